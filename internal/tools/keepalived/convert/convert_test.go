package convert

import (
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/tools/keepalived"
	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// one is a host with one file.
type one string

func (o one) Read(path string) ([]byte, error) {
	if path != "k.conf" {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return []byte(o), nil
}

func (one) Glob(string) ([]string, error) { return nil, nil }

func converted(t testing.TB, text string, o Options) Result {
	t.Helper()
	doc, err := syntax.Read("k.conf", "", one(text))
	require.NoError(t, err)
	return Convert(doc, o)
}

// load takes a result as keepvip does, without its text. It is an error when keepvip reads another configuration in that text.
func load(r Result) (*config.Config, error) {
	cfg, err := config.Load(config.Input{Conf: "k.conf", Elsewhere: true, Convert: func(string) (config.Converted, error) {
		return config.Converted{Draft: r.Draft, Secrets: r.Secrets}, nil
	}})
	if err != nil || r.Text == nil {
		return cfg, err
	}
	read, err := config.Load(config.Input{Env: []string{config.EnvInline + "=" + string(r.Text)}, Elsewhere: true})
	if err != nil {
		return cfg, err
	}
	if without, with := values(cfg), values(read); without != with {
		return cfg, fmt.Errorf("without the text:\n%s\nas the text says:\n%s", without, with)
	}
	return cfg, nil
}

func values(c *config.Config) string {
	var b strings.Builder
	for _, v := range c.Values() {
		fmt.Fprintf(&b, "%s: %s (%v)\n", v.Key, v.Text, v.Origin == (config.Origin{}))
	}
	return b.String()
}

func shown(r Result) string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%v: %s %s: %s", f.Origin, f.Severity, f.Code, f.Text)
		if f.Remedy != "" {
			b.WriteString("; " + f.Remedy)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Each sample has a golden file: the text, and behind a line of dashes the findings. UPDATE_GOLDEN=1 writes them.
func TestConvertGolden(t *testing.T) {
	samples, err := filepath.Glob("testdata/*.conf")
	require.NoError(t, err)
	require.Len(t, samples, 17)
	for _, path := range samples {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			r := converted(t, string(text), Options{})
			got := string(r.Text) + "---\n" + shown(r)
			if r.Text == nil {
				p := converted(t, string(text), Options{Partial: true})
				assert.Equal(t, r.Findings, p.Findings)
				got = "refused; with --partial:\n" + string(p.Text) + "---\n" + shown(r)
			}
			golden := strings.TrimSuffix(path, ".conf") + ".golden"
			if os.Getenv("UPDATE_GOLDEN") != "" {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			assert.Equal(t, string(want), got, "regenerate with make golden and review the difference")
		})
	}
}

func TestConvertedTextIsDeterministic(t *testing.T) {
	text, err := os.ReadFile("testdata/refused.conf")
	require.NoError(t, err)
	first := converted(t, string(text), Options{Partial: true})
	for range 20 {
		assert.Equal(t, first, converted(t, string(text), Options{Partial: true}))
	}
}

// lineNumber is what differs when a line is added.
var lineNumber = regexp.MustCompile(`k\.conf:\d+`)

const base1 = "vrrp_instance a {\n interface eth0\n virtual_router_id 5\n virtual_ipaddress {\n  10.0.0.1\n }\n%s\n}\n"

// What a keyword of an instance comes to in keepvip.
func TestConvertInstanceKeyword(t *testing.T) {
	for text, want := range map[string]func(config.VIP) any{
		"": func(v config.VIP) any {
			return v.VRRP.Version == 2 && v.VRRP.AdvertisementInterval.String() == "1s" && v.Priority == 100
		},
		"priority 254":                    func(v config.VIP) any { return v.Priority == 254 },
		"priority 255":                    func(v config.VIP) any { return v.VRRP.Owner },
		"state MASTER":                    func(v config.VIP) any { return v.VRRP.Owner },
		"version 3\nadvert_int .5":        func(v config.VIP) any { return v.VRRP.Version == 3 && v.VRRP.AdvertisementInterval.String() == "500ms" },
		"advert_int 0.5":                  func(v config.VIP) any { return v.VRRP.AdvertisementInterval.String() == "1s" },
		"nopreempt":                       func(v config.VIP) any { return !v.VRRP.Preempt },
		"preempt_delay 1.5":               func(v config.VIP) any { return v.VRRP.PreemptDelay.String() == "1.5s" },
		"down_timer_adverts 9":            func(v config.VIP) any { return v.VRRP.DownTimerAdverts == 9 },
		"version 3\nv3_checksum_as_v2":    func(v config.VIP) any { return v.VRRP.Checksum == config.ChecksumMessageOnly },
		"version 3\nv3_checksum_as_v2 no": func(v config.VIP) any { return v.VRRP.Checksum == config.ChecksumPseudoHeader },
		"v3_checksum_as_v2":               func(v config.VIP) any { return v.VRRP.Checksum == config.ChecksumPseudoHeader },
		"virtual_ipaddress_excluded {\n 10.0.0.2/24\n fd00::2\n}": func(v config.VIP) any {
			return len(v.Addresses) == 3 && slices.Equal(v.VRRP.Excluded, []netip.Addr{netip.MustParseAddr("10.0.0.2")}) && len(v.Advertised(true)) == 1
		},
		"virtual_ipaddress_excluded {\n 10.0.0.2 dev eth9\n 10.0.0.3 dev eth0\n}": func(v config.VIP) any {
			return slices.Equal(v.Elsewhere, []config.Elsewhere{{Address: netip.MustParseAddr("10.0.0.2"), Interface: "eth9"}}) && len(v.Links()) == 2
		},
		"mcast_src_ip 10.0.0.9": func(v config.VIP) any {
			return v.VRRP.Source == netip.MustParseAddr("10.0.0.9") && len(v.VRRP.Peers) == 0
		},
		"unicast_peer {\n 10.0.0.7\n}\nunicast_ttl 64":                               func(v config.VIP) any { return v.VRRP.MinTTL == 1 },
		"unicast_peer {\n 10.0.0.7\n}\nunicast_ttl 255":                              func(v config.VIP) any { return v.VRRP.MinTTL == 255 },
		"unicast_peer {\n 10.0.0.7 min_ttl 250\n 10.0.0.8 min_ttl 253\n}":            func(v config.VIP) any { return v.VRRP.MinTTL == 250 },
		"unicast_peer {\n 10.0.0.7 min_ttl 250\n 10.0.0.8\n}\nmcast_src_ip 10.0.0.9": func(v config.VIP) any { return v.VRRP.MinTTL == 255 },
		"garp_master_refresh 60":                                                     func(v config.VIP) any { return v.Announce.Refresh.String() == "1m0s" },
		"garp_master_refresh 0": func(v config.VIP) any {
			return v.Announce == (config.Announce{RefreshRepeat: 1, Repeat: 6, Delay: 5 * time.Second, Table: config.DefaultTable, Protocol: config.DefaultProtocol})
		},
		"garp_master_delay 0\ngarp_master_repeat 1\ngarp_master_refresh 60\ngarp_master_refresh_repeat 2": func(v config.VIP) any {
			return v.Announce == (config.Announce{Refresh: time.Minute, RefreshRepeat: 2, Repeat: 1, Table: config.DefaultTable, Protocol: config.DefaultProtocol})
		},
		"garp_master_repeat 1000\ngarp_master_delay 4000": func(v config.VIP) any {
			return v.Announce == (config.Announce{RefreshRepeat: 1, Repeat: 100, Delay: time.Hour, Table: config.DefaultTable, Protocol: config.DefaultProtocol})
		},
		"smtp_alert": func(v config.VIP) any { return v.Check.URL == "none" && v.VRRP.ID == 5 && v.Interface == "eth0" },
	} {
		r := converted(t, fmt.Sprintf(base1, text), Options{})
		cfg, err := load(r)
		require.NoError(t, err, "%s: %s", text, shown(r))
		assert.Equal(t, true, want(cfg.VIPs[0]), text)
	}
}

// What would change who holds the address, or which addresses there are, is refused at its line, and --partial goes on without it.
func TestConvertRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"use_vmac x 02:00:00:00:00:01": "virtual",
		"use_vmac_addr":                "virtual",
		"use_ipvlan":                   "ipvlan",
		"vrf red":                      "VRF",
		"virtual_routes {\n 10.1.0.0/16 via 10.0.0.9\n}":           "routes",
		"virtual_rules {\n from 10.0.0.1 table 5\n}":               "routes",
		"track_bfd {\n b\n}":                                       "BFD",
		"dont_track_primary":                                       "interface is down",
		"advert_int 60":                                            "40.95s",
		"authentication {\n auth_type AH\n auth_pass x\n}":         "IPsec",
		"authentication {\n auth_type PASS\n auth_pass a\tb\n}":    "",
		"authentication {\n auth_type PASS\n auth_pass \"a b\"\n}": "printable",
		"unknown_block {\n x\n}":                                   "unknown_block",
		"unicast_peer {\n many\n}":                                 "many",
		"auth_hmac {\n}":                                           "no key",
		"auth_hmac {\n key 1 hex:00\n key 2 hex:01\n}":             "active_key",
		"auth_hmac {\n key 300 hex:00\n}":                          "without a number",
		"auth_hmac {\n key 1 hex:00\n key_chain x\n}":              "key_chain is unknown",
	} {
		if want == "" {
			continue
		}
		r := converted(t, fmt.Sprintf(base1, text), Options{})
		assert.Nil(t, r.Text, text)
		assert.Positive(t, r.Refused, text)
		assert.Contains(t, shown(r), want, text)
		assert.NotContains(t, shown(r), "k.conf:0", text)
		p := converted(t, fmt.Sprintf(base1, text), Options{Partial: true})
		_, err := load(p)
		require.NoError(t, err, text)
	}
}

// By IPv6 keepalived speaks from its link-local address unless it is told another one.
func TestConvertSourceOfIPv6Unicast(t *testing.T) {
	const text = "vrrp_instance a {\n interface eth0\n virtual_router_id 5\n unicast_ttl 255\n%s\n virtual_ipaddress {\n fd00::1\n }\n}\n"
	for lines, refused := range map[string]bool{
		"unicast_peer {\n fd00::7\n}":                            true,
		"unicast_peer {\n fd00::7\n}\nunicast_src_ip fd00::8":    false,
		"unicast_peer {\n fe80::7\n}":                            false,
		"unicast_peer {\n fe80::7\n fd00::9\n}\nunicast_ttl 255": true,
	} {
		r := converted(t, fmt.Sprintf(text, lines), Options{})
		assert.Equal(t, refused, r.Text == nil, shown(r))
		assert.Equal(t, refused, strings.Contains(shown(r), "link-local address"), lines)
	}
}

func TestConvertDelayAfterBoot(t *testing.T) {
	for value, want := range map[string]string{"30": "30s", "2.5": "2.5s", "0": "0s", "soon": "", "-1": "", "1001": "", "NaN": ""} {
		r := converted(t, "global_defs {\n vrrp_delay_after_boot "+value+"\n}\n"+fmt.Sprintf(base1, ""), Options{})
		if want == "" {
			assert.Nil(t, r.Text, value)
			assert.Contains(t, shown(r), "k.conf:2: error unsupported: vrrp_delay_after_boot: keepvip takes 0 to 1000 seconds")
			continue
		}
		cfg, err := load(r)
		require.NoError(t, err, shown(r))
		assert.Equal(t, want, cfg.VIPs[0].VRRP.BootDelay.String())
	}
}

// A password is named by its file, and shown nowhere.
func TestConvertShowsNoPassword(t *testing.T) {
	r := converted(t, fmt.Sprintf(base1, "authentication {\n auth_type PASS\n auth_pass s3cr3tXX\n}"), Options{Secrets: "/etc/keepvip/secrets/"})
	require.NotNil(t, r.Text)
	assert.NotContains(t, string(r.Text)+shown(r), "s3cr3t")
	cfg, err := load(r)
	require.NoError(t, err)
	assert.Equal(t, "/etc/keepvip/secrets/a.password", cfg.VIPs[0].VRRP.PasswordFile)
	assert.Contains(t, shown(r), "the first 8 characters of auth_pass")
}

// Whom a script runs as: never root.
func TestConvertScriptUser(t *testing.T) {
	const script = "vrrp_script s {\n script /bin/true\n%s\n}\n" + "vrrp_instance a {\n interface eth0\n virtual_router_id 5\n virtual_ipaddress {\n 10.0.0.1\n }\n track_script {\n s\n }\n}\n"
	for _, tt := range []struct{ give, want string }{
		{fmt.Sprintf(script, ""), "check"},
		{fmt.Sprintf(script, "user root"), "check"},
		{fmt.Sprintf(script, "user 0"), "check"},
		{fmt.Sprintf(script, "user web"), "web"},
		{"global_defs {\n script_user web web\n}\n" + fmt.Sprintf(script, ""), "web"},
		{"global_defs {\n script_user web\n}\n" + fmt.Sprintf(script, "user root"), "check"},
	} {
		r := converted(t, tt.give, Options{User: "check"})
		cfg, err := load(r)
		require.NoError(t, err, shown(r))
		assert.Equal(t, tt.want, cfg.VIPs[0].Checks[0].User, tt.give)
		assert.Equal(t, tt.want == "check", strings.Contains(shown(r), "without capabilities"), tt.give)
	}
}

// Scripts of the usual kinds are checks that keepvip makes itself.
func TestConvertScriptKinds(t *testing.T) {
	for text, want := range map[string]string{
		"killall -0 haproxy":                  "process haproxy",
		"/usr/bin/pidof nginx":                "process nginx",
		"pgrep -x etcd":                       "process etcd",
		"</dev/tcp/127.0.0.1/80":              "tcp 127.0.0.1:80",
		"< /dev/tcp/localhost/25":             "tcp localhost:25",
		"nc -z ::1 443":                       "tcp [::1]:443",
		"/bin/nc -w 1 127.0.0.1 80":           "exec /bin/nc",
		"/usr/bin/pgrep etcd":                 "exec /usr/bin/pgrep",
		"/bin/bash -c '</dev/tcp/10.0.0.9/9'": "exec /bin/bash",
		"pidof a b":                           "refused",
		"</dev/tcp/127.0.0.1/99999":           "exec /bin/sh",
		"< /etc/hosts":                        "exec /bin/sh",
		"nc -z 10.0.0.1 80":                   "refused", // the virtual address
		"check.sh":                            "refused",
	} {
		r := converted(t, "vrrp_script s {\n script \""+text+"\"\n user web\n timeout 2\n}\n"+fmt.Sprintf(base1, "track_script {\n s\n}"), Options{})
		if want == "refused" {
			assert.Nil(t, r.Text, text)
			continue
		}
		cfg, err := load(r)
		require.NoError(t, err, "%s: %s", text, shown(r))
		k := cfg.VIPs[0].Checks[0]
		assert.Equal(t, want, string(k.Kind)+" "+k.Process+k.Address+strings.Join(slices.Concat(k.Command, []string{""})[:1], ""), text)
		assert.Equal(t, strings.Contains(text, "pidof"), strings.Contains(shown(r), "keepalived calls killall5 in the place of pidof"), text)
	}
}

// Files are called by their last element in comments, unless two share it.
func TestConvertCommentsAreShort(t *testing.T) {
	assert.Equal(t, map[string]string{"/a/x.conf": "x.conf"}, shortened([]string{"/a/x.conf", "/a/y.conf", "/b/y.conf"}))
}

// Weights, times and counts of a script are keepalived's.
func TestConvertScriptArithmetic(t *testing.T) {
	r := converted(t, "vrrp_script s {\n script \"/bin/a 'b c'  d\"\n interval 4000\n timeout 70\n rise 5000\n fall 5000\n weight -7\n}\n"+
		"vrrp_script d {\n script /bin/d\n}\n"+fmt.Sprintf(base1, "track_script {\n s weight 9\n d\n}"), Options{})
	cfg, err := load(r)
	require.NoError(t, err, shown(r))
	s, d := cfg.VIPs[0].Checks[0], cfg.VIPs[0].Checks[1]
	assert.Equal(t, []string{"/bin/a", "b c", "d"}, s.Command)
	assert.Equal(t, []any{9, "10m0s", "1m0s", 1000, 6}, []any{s.Weight, s.Interval.String(), s.Timeout.String(), s.Rise, s.Fall})
	assert.Equal(t, []any{0, "1s", "1s", 1, 1}, []any{d.Weight, d.Interval.String(), d.Timeout.String(), d.Rise, d.Fall})
	assert.Equal(t, config.Release, cfg.VIPs[0].Check.WhenAllUnhealthy)
	assert.Contains(t, shown(r), "within an hour")
}

func TestConvertNothingToCarry(t *testing.T) {
	for _, text := range []string{"", "global_defs {\n}\n", "virtual_server 10.0.0.1 80 {\n}\n", "vrrp_instance a {\n}\n"} {
		r := converted(t, text, Options{Partial: true})
		assert.Nil(t, r.Text)
		assert.Contains(t, shown(r), "no vrrp_instance that can be carried over")
	}
}

// Every keyword that the model takes leaves a line, or a finding at its place, or is one that says keepalived's default.
func TestConvertDropsNothingSilently(t *testing.T) {
	samples, err := filepath.Glob("../*/testdata/*.conf")
	require.NoError(t, err)
	require.Greater(t, len(samples), 20)
	for _, path := range samples {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, f := range converted(t, string(text), Options{Partial: true}).Findings {
			assert.NotEqual(t, codeLeft, f.Code, "%s: %v %s", path, f.Origin, f.Text)
			assert.NotEqual(t, "", f.Text)
		}
	}
}

// A keyword that the package does not know is found at run time.
func TestConvertLeftIsAFinding(t *testing.T) {
	c := &converter{report: newReport()}
	c.left([]*syntax.Node{{At: syntax.Origin{File: "k", Line: 3}, Words: []string{"quite_new"}}})
	require.Len(t, c.findings, 1)
	assert.Equal(t, codeLeft, c.findings[0].Code)
}

// Whatever is read is either refused with a finding, or comes to a configuration that keepvip takes.
func FuzzConvert(f *testing.F) {
	for _, pattern := range []string{"testdata/*.conf", "../../../../netns-tests/dump/testdata/*.conf", "../lint/testdata/*.conf"} {
		samples, err := filepath.Glob(pattern)
		require.NoError(f, err)
		for _, path := range samples {
			text, err := os.ReadFile(path)
			require.NoError(f, err)
			f.Add(string(text), false)
		}
	}
	f.Fuzz(func(t *testing.T, text string, partial bool) {
		if len(text) > 20000 || strings.Contains(text, "~SEQ") {
			return // long sequences are of package syntax, and take their time
		}
		r := converted(t, text, Options{Partial: partial})
		for _, found := range r.Findings {
			require.NotEmpty(t, found.Text)
			require.NotContains(t, found.Code, " ")
		}
		if r.Text == nil {
			require.Positive(t, r.Refused)
			return
		}
		require.True(t, partial || r.Refused == 0)
		_, err := load(r)
		require.NoError(t, err)
	})
}

// One key is for all entries.
func TestConvertKeyOfSomeInstancesIsRefused(t *testing.T) {
	const hmac = "auth_hmac {\n key %d hex:00\n}"
	second := strings.NewReplacer("vrrp_instance a", "vrrp_instance b", "10.0.0.1", "10.0.0.2", "router_id 5", "router_id 6").Replace(base1)
	for text, want := range map[string]string{
		fmt.Sprintf(base1, fmt.Sprintf(hmac, 1)) + fmt.Sprintf(second, ""):                               "in some instances",
		fmt.Sprintf(base1, fmt.Sprintf(hmac, 1)) + fmt.Sprintf(second, fmt.Sprintf(hmac, 2)):             "another than the first",
		fmt.Sprintf(base1, fmt.Sprintf(hmac, 1)) + fmt.Sprintf(second, fmt.Sprintf(hmac, 1)):             "",
		fmt.Sprintf(base1, fmt.Sprintf(hmac, 0)+"\n authentication {\n auth_type PASS\n auth_pass x\n}"): "passwordFile",
	} {
		r := converted(t, text, Options{})
		assert.Equal(t, want == "", r.Text != nil, shown(r))
		assert.Contains(t, shown(r), want)
	}
}

// Each line alone changes the text, or has a finding: none is dropped silently.
func TestConvertEachKeywordShows(t *testing.T) {
	const script = "vrrp_script s {\n script /bin/true\n user web\n%s\n}\n"
	frame := func(global, script1, instance string) string {
		return "global_defs {\n" + global + "\n}\n" + fmt.Sprintf(script, script1) + "track_file tf {\n file /run/f\n}\nvrrp_track_process tp {\n process p\n}\n" +
			fmt.Sprintf(base1, instance+"\n track_script {\n s\n }")
	}
	all := func(r Result) string { return lineNumber.ReplaceAllString(string(r.Text)+shown(r), "") }
	plainly := all(converted(t, frame("", "", ""), Options{}))
	for where, lines := range map[string]string{
		"global": `router_id x|enable_script_security|vrrp_version 3|vrrp_garp_master_delay 1|vrrp_garp_master_repeat 2|vrrp_garp_master_refresh 60
			vrrp_garp_master_refresh_repeat 2|vrrp_garp_lower_prio_delay 1|vrrp_garp_lower_prio_repeat 1|vrrp_garp_interval .1|vrrp_gna_interval .1|vrrp_min_garp
			vrrp_mcast_group4 224.0.0.9|vrrp_down_timer_adverts 5|vrrp_lower_prio_no_advert|vrrp_higher_prio_send_advert|vrrp_skip_check_adv_addr
			vrrp_check_unicast_src|max_auto_priority 4|min_auto_priority_delay 5|vrrp_priority 3|vrrp_rt_priority 5|vrrp_no_swap|vrrp_rlimit_rttime 5
			vrrp_cpu_affinity 1|vrrp_strict|vrrp_startup_delay 5|vrrp_delay_after_boot 5|dynamic_interfaces|default_interface e|notify_fifo /f
			vrrp_notify_fifo /f|notify_fifo_script /f|vrrp_notify_fifo_script /f|vrrp_notify_priority_changes|fifo_write_vrrp_states_on_reload
			notification_email {}|notification_email_from a@b|smtp_server 1.1.1.1|smtp_helo_name x|smtp_connect_timeout 5|smtp_alert|smtp_alert_vrrp
			no_email_faults|startup_script /x|shutdown_script /x|log_unknown_vrids|vrrp_iptables|nftables|snmp_socket x|enable_snmp_vrrp|enable_dbus
			reload_check_config|reload_time_file /x|vmac_prefix v|v3_checksum_as_v2|vrrp_owner_ignore_adverts|process_names|json_version 2|nothing_known`,
		"script": `interval 2|timeout 3|weight 4|weight -4 reverse|rise 5|fall 6|user root|init_fail|nothing_known`,
		"instance": `state MASTER|priority 3|priority 255|version 3|advert_int 2|mcast_src_ip 10.0.0.9|unicast_src_ip 10.0.0.9|unicast_peer { 10.0.0.8 }
			unicast_peer { 10.0.0.8 min_ttl 3 }|track_src_ip|unicast_ttl 64|check_unicast_src|unicast_fault_no_peer|old_unicast_checksum
			v3_checksum_as_v2|mcast_dst_ip 224.0.0.9|nopreempt|preempt_delay 5|track_interface { e1 }|track_interface { e1 weight -3 }|track_file { tf }
			track_process { tp }|track_bfd { b }|dont_track_primary|linkbeat_use_polling|garp_master_delay 1|garp_master_repeat 2|garp_master_refresh 60
			garp_master_refresh_repeat 2|garp_lower_prio_delay 1|garp_lower_prio_repeat 1|garp_extra_if 3|lower_prio_no_advert|higher_prio_send_advert
			down_timer_adverts 6|timer_expired_backup|skip_check_adv_addr|strict_mode|no_accept|use_vmac|use_vmac_addr|vmac_xmit_base|use_ipvlan|vrf r
			promote_secondaries|kernel_rx_buf_size 5|debug 3|native_ipv6|lvs_sync_daemon_interface e|owner_ignore_adverts|virtual_routes { 10.0.0.0/8 }
			virtual_rules { from 10.0.0.1 }|notify /n|notify_master /n|notify_backup /n|notify_fault /n|notify_stop /n|notify_deleted|notify_master_rx_lower_pri /n
			notify_priority_changes|smtp_alert|no_virtual_ipaddress|virtual_ipaddress_excluded { fd00::1 }|virtual_ipaddress { 10.0.0.3 label x }
			authentication { auth_type PASS; }|auth_hmac { key 1 hex:00 }|nothing_known`,
	} {
		for line := range strings.FieldsFuncSeq(lines, func(r rune) bool { return r == '|' || r == '\n' }) {
			line = strings.NewReplacer("{ ", "{\n", " }", "\n}", "{}", "{\n}").Replace(strings.TrimSpace(line))
			text := map[string]string{"global": frame(line, "", ""), "script": frame("", line, ""), "instance": frame("", "", line)}[where]
			assert.NotEqual(t, plainly, all(converted(t, text, Options{Partial: true})), "%s: %s", where, line)
		}
	}
}

// What keepvip's own configuration does not take is said at the line that it comes from.
func TestConvertInvalidIsAtItsLine(t *testing.T) {
	const head, tail = "vrrp_instance a {\n interface eth0\n virtual_router_id 5\n", "}\n"
	for name, tt := range map[string]struct {
		text string
		line int
		want string
	}{
		"the second address of three": {head + "virtual_ipaddress {\n10.0.0.1\n10.0.0.0/24\n10.0.0.3\n}\n" + tail, 6, "10.0.0.0/24"},
		"an address in two instances": {head + "virtual_ipaddress {\n10.0.0.1\n}\n" + tail +
			"vrrp_instance b {\n interface eth0\n virtual_router_id 6\n virtual_ipaddress {\n10.0.0.2\n10.0.0.1\n}\n}\n", 13, "10.0.0.1 is in vips[0]"},
		"an interface that is no text": {"vrrp_instance a {\n interface et\xffh0\n virtual_router_id 5\nvirtual_ipaddress {\n10.0.0.1\n}\n}\n", 2, "UTF-8"},
		"a label that is no text":      {head + "virtual_ipaddress {\n10.0.0.1 label eth0:\xe4\n}\n" + tail, 5, "UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, partial := range []bool{false, true} {
				r := converted(t, tt.text, Options{Partial: partial})
				assert.Nil(t, r.Text)
				assert.False(t, r.Valid)
				at := slices.IndexFunc(r.Findings, func(f keepalived.Finding) bool { return f.Code == codeInvalid })
				require.GreaterOrEqual(t, at, 0, shown(r))
				f := r.Findings[at]
				assert.Equal(t, tt.line, f.Line, shown(r))
				assert.Contains(t, f.Text, tt.want)
				assert.NotEmpty(t, f.Remedy)
			}
		})
	}
	r := converted(t, head+"virtual_ipaddress {\n10.0.0.1 label \"eth0:\\xff\"\n}\n"+tail, Options{})
	assert.NotContains(t, shown(r), "UTF-8", "a backslash is text")
}

// Every error of a sample says where, and what to do.
func TestConvertErrorsHaveAPlaceAndARemedy(t *testing.T) {
	seen := 0
	for _, pattern := range []string{"testdata/*.conf", "../../../../netns-tests/dump/testdata/*.conf", "../lint/testdata/*.conf"} {
		samples, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, path := range samples {
			doc, err := syntax.Read(path, "", syntax.Disk{})
			require.NoError(t, err)
			for _, f := range Convert(doc, Options{}).Findings {
				if f.Severity == keepalived.Fault {
					seen++
					assert.True(t, f.File != "" && f.Line > 0 && f.Remedy != "", "%s: %+v", path, f)
				}
			}
		}
	}
	assert.Greater(t, seen, 50)
}

// The same of texts that are made of the samples' lines, which get further than bytes do: each byte takes one of them.
func FuzzConvertLines(f *testing.F) {
	var lines []string
	seen := map[string]bool{}
	for _, pattern := range []string{"testdata/*.conf", "../../../../netns-tests/dump/testdata/*.conf", "../lint/testdata/*.conf"} {
		samples, err := filepath.Glob(pattern)
		require.NoError(f, err)
		for _, path := range samples {
			text, err := os.ReadFile(path)
			require.NoError(f, err)
			for line := range strings.Lines(string(text)) {
				if line = strings.TrimSpace(line); !seen[line] && !strings.Contains(line, "~SEQ") {
					seen[line] = true
					lines = append(lines, line)
				}
			}
		}
	}
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, []byte{}, []byte{})
	f.Fuzz(func(t *testing.T, instance, global, script []byte) {
		pick := func(data []byte) string {
			var b strings.Builder
			for i := 0; i+1 < min(len(data), 80); i += 2 {
				b.WriteString(lines[(int(data[i])<<8|int(data[i+1]))%len(lines)] + "\n")
			}
			return b.String()
		}
		text := "global_defs {\n" + pick(global) + "}\nvrrp_script s {\n script /bin/true\n" + pick(script) + "}\n" +
			"vrrp_instance a {\n interface eth0\n virtual_router_id 5\n" + pick(instance) + "virtual_ipaddress {\n 10.7.0.1\n}\n}\n"
		for _, partial := range []bool{false, true} {
			r := converted(t, text, Options{Partial: partial})
			if r.Text == nil {
				require.Positive(t, r.Refused)
				continue
			}
			_, err := load(r)
			require.NoError(t, err, text)
			require.True(t, partial || r.Refused == 0)
		}
	})
}
