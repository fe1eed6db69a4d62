//go:build netns

package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

func promtool(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "promtool", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "promtool %v\n%s", args, out)
	return string(out)
}

// Each alert fires in its situations, and is silent in all others.
func TestAlertsInTheirSituations(t *testing.T) {
	t.Parallel()
	assert.Contains(t, promtool(t, pack, "check", "rules", "keepvip.rules.yaml"), "SUCCESS")
	assert.Contains(t, promtool(t, pack, "test", "rules", "keepvip.rules.test.yaml"), "SUCCESS")
}

// An alert that does not fire, or fires where nothing is wrong, is noticed.
func TestSituationsNoticeAWrongAlert(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, change := range map[string]func(string) string{
		"keepvip.rules.test.yaml": func(s string) string { return s },
		"keepvip.rules.yaml": func(s string) string {
			s = strings.Replace(s, "keepvip_silenced) > 0", "keepvip_silenced) > 1", 1)
			return strings.Replace(s, "keepvip_fenced) == 0", "keepvip_fenced) == 1", 1)
		},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(change(read(t, pack+name))), 0o600))
	}
	cmd := exec.CommandContext(t.Context(), "promtool", "test", "rules", "keepvip.rules.test.yaml")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	for _, text := range []string{"alertname: KeepvipHolderSilenced", "alertname: KeepvipFenceNotInPlace"} {
		assert.Contains(t, string(out), text)
	}
}

// Prometheus understands every query of the dashboard.
func TestQueriesOfTheDashboard(t *testing.T) {
	t.Parallel()
	type record struct {
		Record string `json:"record"`
		Expr   string `json:"expr"`
	}
	var rules []record
	for _, p := range readDashboard(t).Panels {
		for _, q := range p.Targets {
			expr := variable.ReplaceAllStringFunc(q.Expr, func(name string) string {
				if name == "$__rate_interval" {
					return "1m"
				}
				return ".*"
			})
			rules = append(rules, record{"dashboard", expr})
		}
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}})
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yaml"), text, 0o600))
	assert.Contains(t, promtool(t, dir, "check", "rules", "--lint=none", "rules.yaml"), "SUCCESS")
}
