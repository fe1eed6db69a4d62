package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/tools/keepalived"
	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// TestLintGolden compares the findings of each file in testdata with a file that `make golden` writes.
func TestLintGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.conf")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			c, err := keepalived.Read(path, "node", syntax.Disk{})
			require.NoError(t, err)
			var got strings.Builder
			for _, f := range Grade(Lint(c)) {
				fmt.Fprintf(&got, "%d %s %s\n  %s\n  > %s\n", f.Line, f.Severity, f.Code, f.Text, f.Remedy)
			}
			golden := strings.TrimSuffix(path, ".conf") + ".golden"
			if os.Getenv("UPDATE_GOLDEN") != "" {
				require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			assert.Equal(t, string(want), got.String(), "regenerate with make golden and review the difference")
		})
	}
}

// Every trap of the table is found in one of the golden files, so that none is there without a test.
func TestLintGoldenHasEveryCode(t *testing.T) {
	files, err := filepath.Glob("testdata/*.golden")
	require.NoError(t, err)
	var all strings.Builder
	for _, path := range files {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		all.Write(text)
	}
	for _, code := range []string{
		"master-without-priority", "nopreempt-weights", "strict-unicast", "strict-no-accept", "vrid-twice", "address-twice", "slow-check", "script-shell", "script-user",
		"script-security", "script-insecure", "script-path", "script-arguments", "unicast-ttl", "unicast-anyone", "own-peer", "weights-clamped", "condition",
		"ipv6-link-local", "password-in-clear", "auth-pass-cut", "advert-int-rounded", "peer-lost", "address-option", "argument-ignored", "reference",
		"unknown-keyword", "not-vrrp", "conflict", "comment", "characters", "untracked", "notify-user", "interface-name", "vrid-example", "stops-keepalived", "script-link",
	} {
		assert.Contains(t, all.String(), " "+code+"\n")
	}
}

func TestTally(t *testing.T) {
	got := Tally([]keepalived.Finding{{Severity: keepalived.Fault}, {Severity: keepalived.Note}, {Severity: keepalived.Note}, {Severity: keepalived.Warning}})
	assert.Equal(t, Count{Errors: 1, Warnings: 1, Notes: 2}, got)
}

// Two instances share a VRID only where none hears the other.
func TestSameVRID(t *testing.T) {
	instance := func(name, inside string) string {
		return "vrrp_instance " + name + " {\ninterface eth0\nvirtual_router_id 1\n" + inside + "\n}\n"
	}
	v4, v6 := "virtual_ipaddress {\n10.0.0.1\n}", "virtual_ipaddress {\nfe80::1\n}"
	for name, c := range map[string]struct {
		a, b  string
		twice bool
	}{
		"the same":         {v4, v4, true},
		"families":         {v4, v6, false},
		"interfaces":       {v4, v4 + "\ninterface eth1", false},
		"unicast":          {v4, v4 + "\nunicast_peer {\n10.0.0.9\n}", false},
		"the same peers":   {v4 + "\nunicast_peer {\n10.0.0.9\n}", v4 + "\nunicast_peer {\n10.0.0.8\n10.0.0.9\n}", true},
		"other peers":      {v4 + "\nunicast_peer {\n10.0.0.9\n}", v4 + "\nunicast_peer {\n10.0.0.8\n}", false},
		"multicast groups": {v4, v4 + "\nmcast_dst_ip 224.0.0.99", false},
	} {
		path := filepath.Join(t.TempDir(), "k.conf")
		require.NoError(t, os.WriteFile(path, []byte(instance("A", c.a)+instance("B", c.b)), 0o600))
		cfg, err := keepalived.Read(path, "", syntax.Disk{})
		require.NoError(t, err)
		found := false
		for _, f := range Lint(cfg) {
			found = found || f.Code == "vrid-twice"
		}
		assert.Equal(t, c.twice, found, name)
	}
}
