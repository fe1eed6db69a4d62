package convert

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
