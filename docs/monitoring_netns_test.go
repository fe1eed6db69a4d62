//go:build netns

package docs_test

import (
	"maps"
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

// plain is a query of the dashboard with all of its variables chosen.
func plain(expr string) string {
	return variable.ReplaceAllStringFunc(expr, func(name string) string {
		if name == "$__rate_interval" {
			return "1m"
		}
		return ".*"
	})
}

// Where nothing is wrong no panel shows red or orange, in one cluster and in two.
func TestDashboardIsGreenWhereNothingIsWrong(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	var tests []m
	for _, s := range situations() {
		if !strings.HasSuffix(s.name, "nothing is wrong") && !strings.HasSuffix(s.name, "have nothing wrong") {
			continue
		}
		all := healthy()
		maps.Copy(all, s.changed)
		var input, queries []m
		for name, values := range all {
			if values != "" {
				input = append(input, m{"series": name, "values": values})
			}
		}
		none := func(expr string) {
			queries = append(queries, m{"expr": expr, "eval_time": "20m", "exp_samples": []m{}})
		}
		for _, a := range readDashboard(t).Annotations.List {
			none("count(" + plain(a.Expr) + ") < 1")
		}
		for _, p := range readDashboard(t).Panels {
			for _, q := range p.Targets {
				expr := plain(q.Expr)
				none("count(" + expr + ") < 1") // a query that cannot be evaluated is an error
				for _, wrong := range p.alarming(expr) {
					none(wrong)
					none("absent(" + expr + ")")
				}
			}
		}
		tests = append(tests, m{"name": s.name, "interval": "30s", "input_series": input, "promql_expr_test": queries})
	}
	require.Len(t, tests, 3)
	text, err := yaml.Marshal(m{"rule_files": []string{}, "evaluation_interval": "30s", "tests": tests})
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "dashboard.test.yaml"), text, 0o600))
	assert.Contains(t, promtool(t, dir, "test", "rules", "dashboard.test.yaml"), "SUCCESS")
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
			rules = append(rules, record{"dashboard", plain(q.Expr)})
		}
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}})
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yaml"), text, 0o600))
	assert.Contains(t, promtool(t, dir, "check", "rules", "--lint=none", "rules.yaml"), "SUCCESS")
}
