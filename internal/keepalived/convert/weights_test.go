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
		cfg, err := load(r.Text)
		require.NoError(t, err, shown(r))
		k := cfg.VIPs[0].Checks[0]
		assert.Equal(t, tt.want, fmt.Sprintf("%s %d %t %d %d", k.Kind, k.Weight, k.Reverse, k.Rise, k.Fall), "%s, %s", tt.give, tt.track)
	}
}

func TestConvertInitFail(t *testing.T) {
	for weight, want := range map[string]bool{"weight -2": true, "weight 0": true, "weight -2 reverse": false} {
		r := converted(t, "vrrp_script s {\n script /bin/s\n user web\n init_fail\n"+weight+"\n}\n"+fmt.Sprintf(base1, "track_script {\n s\n}"), Options{})
		cfg, err := load(r.Text)
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
		cfg, err := load(r.Text)
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
	assert.Contains(t, shown(r), "no whole path")
}
