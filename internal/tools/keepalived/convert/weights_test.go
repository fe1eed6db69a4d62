package convert

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
)

// A reversed weight W, of which keepalived takes W off while the check is good, or adds -W while it is bad, is the weight -W of the check
// turned round, with its counts.
func TestConvertReversedWeight(t *testing.T) {
	const scripts = "vrrp_script s {\n script /bin/s\n user web\n rise 4\n fall 5\n weight %s\n}\n" +
		"vrrp_script k {\n script \"pidof k\"\n rise 4\n fall 5\n weight -3 reverse\n}\nvrrp_track_process p {\n process p\n}\n"
	for _, tt := range []struct {
		give, track, want string
	}{
		{"10", "track_script {\n s\n}", "exec 10 false 4 5"},
		{"10 reverse", "track_script {\n s\n}", "exec -10 true 5 4"},
		{"10", "track_script {\n s weight 7 reverse\n}", "exec -7 true 5 4"},
		{"-10 reverse", "track_script {\n s\n}", "exec 10 true 5 4"},
		{"-10 reverse", "track_script {\n s weight -10 noreverse\n}", "exec -10 false 4 5"},
		{"0 reverse", "track_script {\n s\n}", "exec 0 true 5 4"},
		{"0", "track_script {\n k\n}", "process 3 true 5 4"},
		{"0", "track_interface {\n eth7 weight -20 reverse\n}", "interface 20 true 1 1"},
		{"0", "track_interface {\n eth7 weight -20\n}", "interface -20 false 2 3"},
		{"0", "track_process {\n p weight 20 reverse\n}", "process -20 true 1 1"},
	} {
		r := converted(t, fmt.Sprintf(scripts, tt.give)+fmt.Sprintf(base1, tt.track), Options{})
		cfg, err := load(r)
		require.NoError(t, err, shown(r))
		k := cfg.VIPs[0].Checks[0]
		assert.Equal(t, tt.want, fmt.Sprintf("%s %d %t %d %d", k.Kind, k.Weight, k.Reverse, k.Rise, k.Fall), "%s, %s", tt.give, tt.track)
	}
}

func TestConvertInitFail(t *testing.T) {
	for weight, want := range map[string]bool{"weight -2": true, "weight 0": true, "weight -2 reverse": false} {
		r := converted(t, "vrrp_script s {\n script /bin/s\n user web\n init_fail\n"+weight+"\n}\n"+fmt.Sprintf(base1, "track_script {\n s\n}"), Options{})
		cfg, err := load(r)
		require.NoError(t, err, shown(r))
		assert.Equal(t, want, cfg.VIPs[0].Checks[0].InitFail, weight)
		assert.Equal(t, !want, strings.Contains(shown(r), "init_fail"), weight)
	}
}

// A track_file is a check that multiplies the number in a file by the weight, 1 by default.
func TestConvertTrackFile(t *testing.T) {
	const file = "track_file f {\n file \"/run/load\"\n%s\n}\n"
	for _, tt := range []struct{ give, track, want string }{
		{"", "f", "/run/load 1 false 0"},
		{"weight -3", "f", "/run/load -3 false 0"},
		{"weight -3 reverse", "f", "/run/load -3 true 0"},
		{"weight 0", "f weight 254", "/run/load 254 false 0"},
		{"weight 0 reverse", "f", "/run/load 0 true 0"},
		{"init_file 7", "f", "/run/load 1 false 7"},
		{"init_file", "f", "/run/load 1 false 0"},
		{"init_file 99999999", "f", "/run/load 1 false 65536"},
	} {
		r := converted(t, fmt.Sprintf(file, tt.give)+fmt.Sprintf(base1, "track_file {\n "+tt.track+"\n}"), Options{})
		cfg, err := load(r)
		require.NoError(t, err, shown(r))
		k := cfg.VIPs[0].Checks[0]
		assert.Equal(t, tt.want, fmt.Sprintf("%s %d %t %d", k.Path, k.Weight, k.Reverse, k.Initial), "%s, %s", tt.give, tt.track)
		assert.True(t, k.Number)
		assert.Equal(t, config.Release, cfg.VIPs[0].Check.WhenAllUnhealthy)
	}
	for give, want := range map[string]string{"init_file 7 overwrite": "writes no files", "": ""} {
		r := converted(t, fmt.Sprintf(file, give)+fmt.Sprintf(base1, "track_file {\n f\n}"), Options{})
		assert.Contains(t, shown(r), want)
		assert.Equal(t, want == "", r.Text != nil)
	}
	r := converted(t, "track_file f {\n file run/load\n}\n"+fmt.Sprintf(base1, "track_file {\n f\n}"), Options{})
	assert.Contains(t, shown(r), "no whole path", "and the configuration has none")
	for path, there := range map[string]bool{`"/run/a b/load"`: false, `"/run/load"`: true} {
		host := Host{HasDirectory: func(path string) bool { return path == "/run" }}
		r := converted(t, "track_file f {\n file "+path+"\n}\n"+fmt.Sprintf(base1, "track_file {\n f\n}"), Options{Host: host})
		assert.NotNil(t, r.Text, path)
		assert.Equal(t, !there, strings.Contains(shown(r), "there is no directory /run/a b on this host"), shown(r))
	}
	for path, hidden := range map[string]bool{"/tmp/load": true, "/home/ann/load": true, "/run/user/0/load": true, "/tmpfs/load": false, "/run/load": false} {
		text := "track_file f {\n file " + path + "\n}\n" + fmt.Sprintf(base1, "track_file {\n f\n}")
		want := "k.conf:2: warning changed: the unit of keepvip's packages sees nothing of " + path + " that others write"
		assert.Equal(t, hidden, strings.Contains(shown(converted(t, text, Options{Hidden: func(p string) bool { return p == path && hidden }})), want), path)
		assert.NotContains(t, shown(converted(t, text, Options{})), want, "nobody knows of a unit")
	}
}

// A vrrp_track_process that asks for more than one name is counted; its delays are probes in a row.
func TestConvertTrackProcess(t *testing.T) {
	for _, tt := range []struct{ give, want string }{
		{"process web", "web 0 65535 [] nil exact 300ms 2 3"},
		{"process web\nquorum 2", "web 2 65535 [] nil exact 300ms 1 1"},
		{"process web\nquorum 2\nquorum_max 5", "web 2 5 [] nil exact 300ms 1 1"},
		{"process web\nquorum_max 5\nquorum 6", "web 0 5 [] nil exact 300ms 1 1"},
		{"process web\nquorum_max 0", "web 0 0 [] nil exact 300ms 1 1"},
		{"process web\nquorum 3\nquorum_max 2", "web 3 65535 [] nil exact 300ms 1 1"},
		{"process web\nparam_match", "web 0 65535 [] given exact 300ms 1 1"},
		{"process web\nparam_match odd", "web 0 65535 [] nil exact 300ms 2 3"},
		{"process /usr/sbin/web -c \"a b\"", "web 0 65535 [-c a b] given exact 300ms 1 1"},
		{"process web -c\nparam_match partial", "web 0 65535 [-c] given first 300ms 1 1"},
		{"param_match initial\nprocess web -c\nprocess other", "web 0 65535 [-c] given begin 300ms 1 1"},
		{"process web\ndelay 1.5", "web 1 65535 [] nil exact 300ms 6 6"},
		{"process web\nfork_delay 0.3", "web 1 65535 [] nil exact 300ms 2 1"},
		{"process web\nterminate_delay 3600", "web 1 65535 [] nil exact 3.605s 1 998"},
	} {
		r := converted(t, "vrrp_track_process p {\n"+tt.give+"\n weight 5\n}\n"+fmt.Sprintf(base1, "track_process {\n p\n}"), Options{Partial: true})
		cfg, err := load(r)
		require.NoError(t, err, "%s: %s\n%s", tt.give, shown(r), r.Text)
		k := cfg.VIPs[0].Checks[0]
		given := "nil"
		if k.Arguments != nil {
			given = "given"
		}
		assert.Equal(t, tt.want, fmt.Sprintf("%s %d %d %v %s %s %v %d %d", k.Process, k.Quorum, k.QuorumMax, k.Arguments, given, k.Match, k.Interval, k.Rise, k.Fall), tt.give)
		assert.Equal(t, strings.Contains(tt.give, "/"), strings.Contains(shown(r), "whatever directory"), tt.give)
	}
}

// Programs without a path are looked for where keepalived does, and text for a shell goes to one.
func TestConvertPrograms(t *testing.T) {
	find := func(name string) string {
		if name == "check" {
			return "/usr/local/bin/check"
		}
		return ""
	}
	for _, tt := range []struct {
		give string
		find func(string) string
		want []string
	}{
		{"check -a 'b c'", find, []string{"/usr/local/bin/check", "-a", "b c"}},
		{"check -a", nil, nil},
		{"other", find, nil},
		{"./check", find, nil},
		{"/bin/check", find, []string{"/bin/check"}},
		{"</etc/hosts", nil, []string{"/bin/sh", "-c", "</etc/hosts"}},
		{"< /etc/my hosts", nil, []string{"/bin/sh", "-c", "< '/etc/my' 'hosts'"}},
		{"< \\'x", nil, nil},
	} {
		r := converted(t, "vrrp_script s {\n script \""+tt.give+"\"\n user web\n}\n"+fmt.Sprintf(base1, "track_script {\n s\n}"), Options{Find: tt.find})
		if tt.want == nil {
			assert.Nil(t, r.Text, tt.give)
			continue
		}
		cfg, err := load(r)
		require.NoError(t, err, shown(r))
		assert.Equal(t, tt.want, cfg.VIPs[0].Checks[0].Command)
	}
}

// What global_defs says of the checksum holds for the instances that say nothing else.
func TestConvertChecksumOfAllInstances(t *testing.T) {
	for _, tt := range []struct {
		global, own string
		want        config.Checksum
	}{
		{"v3_checksum_as_v2", "", config.ChecksumMessageOnly},
		{"v3_checksum_as_v2 true", "v3_checksum_as_v2 off", config.ChecksumPseudoHeader},
		{"", "v3_checksum_as_v2 on", config.ChecksumMessageOnly},
		{"", "", config.ChecksumPseudoHeader},
	} {
		r := converted(t, "global_defs {\n"+tt.global+"\n}\n"+fmt.Sprintf(base1, "version 3\n"+tt.own), Options{})
		cfg, err := load(r)
		require.NoError(t, err, shown(r))
		assert.Equal(t, tt.want, cfg.VIPs[0].VRRP.Checksum, "%+v", tt)
	}
}

// Labels are those of the IPv4 addresses in their order; a scope is that of all of them.
func TestConvertListing(t *testing.T) {
	for _, tt := range []struct {
		give, want string
		warned     bool
	}{
		{"10.0.0.2", "[] global", false},
		{"10.0.0.2 label eth0:1\n10.0.0.3\n10.0.0.4 label eth0:1", "[eth0:1  eth0:1] global", false},
		{"10.0.0.2\n10.0.0.3 label eth0:3\n10.0.0.4", "[ eth0:3] global", false},
		{"10.0.0.2 scope link\n10.0.0.3 scope link", "[] link", false},
		{"10.0.0.2 scope link\n10.0.0.3", "[] global", true},
		{"10.0.0.2 scope nowhere", "[] global", true},
		{"10.0.0.2 scope global", "[] global", false},
		{"10.0.0.2 label a/b", "refused", true},
	} {
		r := converted(t, "vrrp_instance a {\n interface eth0\n virtual_router_id 5\n virtual_ipaddress {\n"+tt.give+"\n}\nvirtual_ipaddress_excluded {\n fd00::1\n}\n}\n", Options{})
		got := "refused"
		if cfg, err := load(r); r.Text != nil {
			require.NoError(t, err)
			got = fmt.Sprint(cfg.VIPs[0].Labels, " ", cfg.VIPs[0].Scope)
		}
		assert.Equal(t, tt.want, got, "%s\n%s", tt.give, shown(r))
		assert.Equal(t, tt.warned, strings.Contains(shown(r), "scope") || strings.Contains(shown(r), "labels"), tt.give)
	}
}
