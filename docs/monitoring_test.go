package docs_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/kubeadm"
)

const pack = "../packaging/monitoring/"

type ruleFile struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []rule `json:"rules"`
	} `json:"groups"`
}

type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func alerts(t *testing.T) []rule {
	t.Helper()
	var f ruleFile
	require.NoError(t, yaml.UnmarshalStrict([]byte(read(t, pack+"keepvip.rules.yaml")), &f))
	require.Len(t, f.Groups, 1)
	return f.Groups[0].Rules
}

func TestAlertsNameMetricsCodesAndPlacesThatAreThere(t *testing.T) {
	known, index, page := metricsInCode(t), anchors(read(t, "troubleshooting.md")), read(t, "monitoring.md")
	for _, r := range alerts(t) {
		names := metricWord.FindAllString(r.Expr, -1)
		assert.True(t, len(names) > 0 || strings.Contains(r.Expr, "up{"), r.Alert)
		for _, name := range names {
			assert.True(t, known[name], "%s: %s", r.Alert, name)
		}
		e := code.Code(r.Annotations["code"]).Entry()
		require.NotZero(t, e, "%s: code %s", r.Alert, r.Annotations["code"])
		at := strings.ToLower(string(e.Code)) + "-" + e.Name
		assert.True(t, index[at], "%s: no %s in troubleshooting.md", r.Alert, at)
		assert.Equal(t, "https://github.com/keepvip/keepvip/blob/main/docs/troubleshooting.md#"+at, r.Annotations["runbook_url"], r.Alert)
		assert.Contains(t, []string{"critical", "warning"}, r.Labels["severity"], r.Alert)
		assert.Contains(t, page, "| `"+r.Alert+"` | "+r.Labels["severity"]+" | "+lasting(r.For)+" | ["+string(e.Code)+"](troubleshooting.md#"+at+")", r.Alert)
	}
}

func lasting(d string) string {
	if d == "0s" {
		return "immediately"
	}
	return d
}

func TestOperatorHasTheSameAlerts(t *testing.T) {
	var operator struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Spec       ruleFile       `json:"spec"`
	}
	require.NoError(t, yaml.UnmarshalStrict([]byte(read(t, pack+"prometheusrule.yaml")), &operator))
	assert.Equal(t, []string{"monitoring.coreos.com/v1", "PrometheusRule"}, []string{operator.APIVersion, operator.Kind})
	require.Len(t, operator.Spec.Groups, 1)
	assert.Equal(t, alerts(t), operator.Spec.Groups[0].Rules)
}

// fired is an alert that a situation brings about.
type fired struct {
	alert  string
	labels map[string]string // beside severity
}

// situation is what a cluster of three nodes looks like to Prometheus: the healthy one, but for some series.
type situation struct {
	name    string
	changed map[string]string // series to its values, in promtool's notation; "": it is missing
	fires   []fired
}

const steady = "x60" // half an hour, every 30 s

// healthy is every series of a cluster in which nothing is wrong: n1 holds, the others could.
func healthy() map[string]string {
	out := map[string]string{}
	for i, node := range []string{"n1", "n2", "n3"} {
		series := func(name, labels string, value float64) {
			out[on(node, name, labels)] = fmt.Sprintf("%v+0%s", value, steady)
		}
		active, backup, takers := 0.0, 1.0, 1.0
		if i == 0 {
			active, backup, takers = 1, 0, 2
		}
		const vip = `vip="apiserver"`
		series("up", "", 1)
		series("keepvip_state", vip+`,state="active"`, active)
		series("keepvip_state", vip+`,state="backup"`, backup)
		series("keepvip_state", vip+`,state="initialize"`, 0)
		series("keepvip_members", vip+`,state="active"`, 1)
		series("keepvip_members", vip+`,state="backup"`, 2)
		for name, v := range map[string]float64{
			"keepvip_takers": takers, "keepvip_split": 0, "keepvip_conflicts": 0, "keepvip_silenced": 0, "keepvip_lease_seconds": 0.29,
			"keepvip_lateness_seconds": 0.002, "keepvip_fenced": 1, "keepvip_adverts_rejected_acute": 0, "keepvip_advert_send_errors_total": 0,
			"keepvip_takeovers_total": 1,
		} {
			series(name, vip, v)
		}
		series("keepvip_holder", vip+`,holder="10.0.0.11"`, 1)
		series("keepvip_check_healthy", vip+`,check=""`, 1)
		series("keepvip_check_falls", vip+`,check=""`, 0)
		series("keepvip_check_certificate_expiry_timestamp_seconds", vip+`,check=""`, 3e7)
		series("keepvip_drill_last_result", vip+`,drill="handover",result="ok"`, 1)
		series("keepvip_config_last_reload_successful", "", 1)
		series("keepvip_raft_quorum", "", 1)
		series("keepvip_build_info", `version="v1.0.0"`, 1)
		series("keepvip_config_info", `hash="aa"`, 1)
	}
	return out
}

// twoClusters are healthy ones that have the same nodes, jobs and addresses by name: east, and west with another version and another file.
func twoClusters() map[string]string {
	out := map[string]string{}
	for series, values := range healthy() {
		out[series] = ""
		out[in("east", series)] = values
		out[in("west", strings.NewReplacer("v1.0.0", "v1.1.0", `"aa"`, `"bb"`).Replace(series))] = values
	}
	return out
}

// twoJobs are the same clusters, told apart by the job alone.
func twoJobs() map[string]string {
	out := map[string]string{}
	for series, values := range twoClusters() {
		series = regexp.MustCompile(`cluster="(\w+)",job="keepvip"`).ReplaceAllString(series, `job="keepvip-$1"`)
		out[series] = values
	}
	return out
}

// in is a series in a cluster.
func in(cluster, series string) string {
	return strings.Replace(series, "{", `{cluster="`+cluster+`",`, 1)
}

// on is a series of one node.
func on(node, name, labels string) string {
	all := `job="keepvip",instance="` + node + `:9645"`
	if labels != "" {
		all += "," + labels
	}
	return name + "{" + all + "}"
}

// missing is a node without series, but for these with their values.
func missing(instance string, but ...string) map[string]string {
	out := map[string]string{}
	for series := range healthy() {
		if strings.Contains(series, instance) {
			out[series] = ""
		}
	}
	for i := 0; i < len(but); i += 2 {
		out[but[i]] = but[i+1]
	}
	return out
}

func situations() []situation {
	vip := map[string]string{"job": "keepvip", "vip": "apiserver"}
	at := func(node string, more ...string) map[string]string {
		out := map[string]string{"job": "keepvip", "instance": node + ":9645"}
		for i := 0; i < len(more); i += 2 {
			out[more[i]] = more[i+1]
		}
		return out
	}
	const of = `vip="apiserver"`
	one := func(node, name, labels, values string) map[string]string {
		return map[string]string{on(node, name, labels): values}
	}
	all := func(name, labels, values string) map[string]string {
		out := map[string]string{}
		for _, node := range []string{"n1", "n2", "n3"} {
			out[on(node, name, labels)] = values
		}
		return out
	}
	moved := map[string]string{ // scraped in the midst of a move: for one interval both seem to hold
		on("n1", "keepvip_state", of+`,state="active"`): "1x19 0x40", on("n2", "keepvip_state", of+`,state="active"`): "0x18 1x41",
	}
	return []situation{
		{"nothing is wrong", nil, nil},
		{"an address has moved once", moved, nil},
		{"two clusters have nothing wrong", twoClusters(), nil},
		{"two clusters that their jobs tell apart have nothing wrong", twoJobs(), nil},
		{"nobody holds the address of one of two clusters", func() map[string]string {
			out := twoClusters()
			out[in("west", on("n1", "keepvip_state", of+`,state="active"`))] = "0x60"
			for _, node := range []string{"n1", "n2", "n3"} {
				out[in("west", on(node, "keepvip_holder", of+`,holder="10.0.0.11"`))] = ""
			}
			return out
		}(), []fired{{"KeepvipNoHolder", map[string]string{"cluster": "west", "job": "keepvip", "vip": "apiserver"}}}},
		{"a node of a cluster has another version", map[string]string{
			on("n3", "keepvip_build_info", `version="v1.0.0"`): "", on("n3", "keepvip_build_info", `version="v1.1.0"`): "1x60",
		}, []fired{{"KeepvipVersionsDiffer", map[string]string{"job": "keepvip"}}}},
		{"a node of a cluster has another configuration", map[string]string{
			on("n3", "keepvip_config_info", `hash="aa"`): "", on("n3", "keepvip_config_info", `hash="bb"`): "1x60",
		}, []fired{{"KeepvipConfigurationsDiffer", map[string]string{"job": "keepvip"}}}},
		{"nodes are upgraded one by one", map[string]string{
			on("n3", "keepvip_build_info", `version="v1.0.0"`): "1x30 _x29", on("n3", "keepvip_build_info", `version="v1.1.0"`): "_x30 1x29",
			on("n3", "keepvip_config_info", `hash="aa"`): "1x30 _x29", on("n3", "keepvip_config_info", `hash="bb"`): "_x30 1x29",
		}, nil},
		{"a follower in the job of the members has a file of its own", map[string]string{
			on("w1", "keepvip_config_info", `hash="cc"`): "1x60", on("w1", "keepvip_follower_working", of): "1x60",
		}, nil},
		{"nobody holds the address", func() map[string]string {
			out := all("keepvip_holder", of+`,holder="10.0.0.11"`, "")
			out[on("n1", "keepvip_state", of+`,state="active"`)] = "0x60"
			return out
		}(), []fired{{"KeepvipNoHolder", vip}}},
		{"keepalived holds the address", one("n1", "keepvip_state", of+`,state="active"`, "0x60"), nil},
		{"the holder is not reached", missing("n1:9645", on("n1", "up", ""), "0x60"), []fired{{"KeepvipTargetDown", at("n1")}}},
		{"two hold the address", one("n2", "keepvip_state", of+`,state="active"`, "1x60"), []fired{{"KeepvipTwoHolders", vip}}},
		{"each fit node serves by a route", func() map[string]string {
			out := all("keepvip_local", of, "1x60")
			maps.Copy(out, all("keepvip_state", of+`,state="active"`, "1x60"))
			maps.Copy(out, all("keepvip_takers", of, "0x60"))
			maps.Copy(out, all("keepvip_routes_lost_total", of, "1x60"))
			return out
		}(), nil},
		{"a program takes the route away", one("n2", "keepvip_routes_lost_total", of, "0+1x60"), []fired{{"KeepvipRouteLost", at("n2", "vip", "apiserver")}}},
		{"protocol 112 is filtered", one("n2", "keepvip_split", of, "1x60"), []fired{{"KeepvipSplit", vip}}},
		{"a foreign host answers", one("n3", "keepvip_conflicts", of, "1x60"), []fired{{"KeepvipConflict", vip}}},
		{"the lease of the holder is over", one("n1", "keepvip_silenced", of, "1x60"), []fired{{"KeepvipHolderSilenced", at("n1", "vip", "apiserver")}}},
		{"a node is cut off", one("n3", "keepvip_raft_quorum", "", "0x60"), []fired{{"KeepvipNoQuorum", at("n3")}}},
		{"all others are held", all("keepvip_takers", of, "0x60"), []fired{{"KeepvipNobodyElse", vip}}},
		{"there is one node alone", func() map[string]string {
			out := missing("n2:9645")
			maps.Copy(out, missing("n3:9645"))
			out[on("n1", "keepvip_takers", of)], out[on("n1", "keepvip_members", of+`,state="backup"`)] = "0x60", "0x60"
			return out
		}(), nil},
		{"a holder without a fence", one("n1", "keepvip_fenced", of, "0x60"), []fired{{"KeepvipFenceNotInPlace", at("n1", "vip", "apiserver")}}},
		{"a standby without a fence", one("n2", "keepvip_fenced", of, "0x60"), nil},
		{
			"a DHCP server refuses the lease", one("n1", "keepvip_dhcp_leased", of+`,address="10.0.0.100"`, "0x60"),
			[]fired{{"KeepvipNoDHCPLease", at("n1", "vip", "apiserver", "address", "10.0.0.100")}},
		},
		{"a new holder asks for the lease", one("n1", "keepvip_dhcp_leased", of+`,address="10.0.0.100"`, "0x3 1x56"), nil},
		{"a load is not spread", one("n2", "keepvip_spread_working", of, "0x60"), []fired{{"KeepvipNotSpread", at("n2", "vip", "apiserver")}}},
		{"a follower's kernel refuses", one("w1", "keepvip_follower_working", of, "0x60"), []fired{{"KeepvipFollowerNotWorking", at("w1", "vip", "apiserver")}}},
		{
			"a follower uses no member", one("w1", "keepvip_follower_on_the_wire", of+`,port="6443/tcp"`, "1x60"),
			[]fired{{"KeepvipFollowerOnTheWire", at("w1", "vip", "apiserver", "port", "6443/tcp")}},
		},
		{"no member tells a follower", one("w1", "keepvip_follower_told_by", of, "0x60"), []fired{{"KeepvipFollowerNotTold", at("w1", "vip", "apiserver")}}},
		{"a follower restarts", one("w1", "keepvip_follower_told_by", of, "2x36 0x2 2x21"), nil},
		{"a load is spread again", one("n2", "keepvip_spread_working", of, "0x3 1x57"), nil},
		{"an apiserver is down", one("n2", "keepvip_check_healthy", of+`,check=""`, "0x60"), []fired{{"KeepvipCheckUnhealthy", at("n2", "vip", "apiserver", "check", "")}}},
		{"an apiserver restarts", one("n2", "keepvip_check_healthy", of+`,check=""`, "1x36 0x1 1x22"), nil},
		{"an apiserver comes and goes", one("n2", "keepvip_check_falls", of+`,check=""`, "3x60"), []fired{{"KeepvipCheckFlapping", at("n2", "vip", "apiserver", "check", "")}}},
		{
			"a certificate has expired", one("n2", "keepvip_check_certificate_expiry_timestamp_seconds", of+`,check=""`, "60x60"),
			[]fired{{"KeepvipCertificateExpired", at("n2", "vip", "apiserver", "check", "")}},
		},
		{
			"a certificate expires in a week", one("n2", "keepvip_check_certificate_expiry_timestamp_seconds", of+`,check=""`, "604800x60"),
			[]fired{{"KeepvipCertificateExpires", at("n2", "vip", "apiserver", "check", "")}},
		},
		{"a certificate expires in three weeks", one("n2", "keepvip_check_certificate_expiry_timestamp_seconds", of+`,check=""`, "1814400x60"), nil},
		{"the address moves again and again", one("n2", "keepvip_takeovers_total", of, "1+1x60"), []fired{{"KeepvipAddressFlapping", vip}}},
		{"the host is starved", one("n1", "keepvip_lateness_seconds", of, "0.1x60"), []fired{{"KeepvipLate", at("n1", "vip", "apiserver")}}},
		{"a firewall drops what leaves", one("n1", "keepvip_advert_send_errors_total", of, "0+10x60"), []fired{{"KeepvipAdvertsNotSent", at("n1", "vip", "apiserver")}}},
		{"another key", one("n3", "keepvip_adverts_rejected_acute", of, "1x60"), []fired{{"KeepvipPacketsRejected", at("n3", "vip", "apiserver")}}},
		{"a file with a mistake", one("n2", "keepvip_config_last_reload_successful", "", "0x60"), []fired{{"KeepvipReloadFailed", at("n2")}}},
		{"a drill fails", one("n1", "keepvip_drill_last_result", of+`,drill="stop",result="failed"`, "1x60"), []fired{{"KeepvipDrillFailed", at("n1", "vip", "apiserver", "drill", "stop")}}},
		{"a drill takes long", one("n1", "keepvip_drill_last_result", of+`,drill="handover",result="over"`, "1x60"), []fired{{"KeepvipDrillTooLong", at("n1", "vip", "apiserver", "drill", "handover")}}},
		{"a drill is refused", one("n1", "keepvip_drill_last_result", of+`,drill="stop",result="refused"`, "1x60"), nil},
		{"a node is gone", missing("n3:9645", on("n3", "up", ""), "0x60"), []fired{{"KeepvipTargetDown", at("n3")}}},
		{"no node answers", func() map[string]string {
			out := map[string]string{}
			for _, node := range []string{"n1", "n2", "n3"} {
				maps.Copy(out, missing(node+":9645", on(node, "up", ""), "0x60"))
			}
			return out
		}(), []fired{{"KeepvipNoneAnswers", map[string]string{"job": "keepvip"}}, {"KeepvipTargetDown", at("n1")}, {"KeepvipTargetDown", at("n2")}, {"KeepvipTargetDown", at("n3")}}},
	}
}

var labelOf = regexp.MustCompile(`{{ \$labels\.(\w+) }}`)

// promtoolTests are the situations as promtool reads them: of each, all alerts there are.
func promtoolTests(t *testing.T) []byte {
	t.Helper()
	type m = map[string]any
	var tests []m
	for _, s := range situations() {
		series := healthy()
		for name, values := range s.changed {
			if _, known := series[name]; !known && values == "" {
				continue
			}
			series[name] = values
		}
		var input, cases []m
		for _, name := range slices.Sorted(maps.Keys(series)) {
			if values := series[name]; values != "" {
				input = append(input, m{"series": name, "values": values})
			}
		}
		for _, r := range alerts(t) {
			expected := []m{}
			for _, f := range s.fires {
				if f.alert != r.Alert {
					continue
				}
				labels, notes := maps.Clone(r.Labels), map[string]string{}
				maps.Copy(labels, f.labels)
				for k, text := range r.Annotations {
					notes[k] = labelOf.ReplaceAllStringFunc(text, func(x string) string { return f.labels[labelOf.FindStringSubmatch(x)[1]] })
				}
				maps.DeleteFunc(labels, func(_, v string) bool { return v == "" })
				expected = append(expected, m{"exp_labels": labels, "exp_annotations": notes})
			}
			cases = append(cases, m{"eval_time": "20m", "alertname": r.Alert, "exp_alerts": expected})
		}
		tests = append(tests, m{"name": s.name, "interval": "30s", "input_series": input, "alert_rule_test": cases})
	}
	out, err := yaml.Marshal(m{"rule_files": []string{"keepvip.rules.yaml"}, "evaluation_interval": "30s", "tests": tests})
	require.NoError(t, err)
	return append([]byte("# Written by make golden. promtool test rules keepvip.rules.test.yaml\n"), out...)
}

func TestPromtoolTestsAreThoseOfTheSituations(t *testing.T) {
	const path = pack + "keepvip.rules.test.yaml"
	want := promtoolTests(t)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(path, want, 0o600))
	}
	assert.Equal(t, string(want), read(t, path), "make golden")
	fires := map[string]bool{}
	for _, s := range situations() {
		for _, f := range s.fires {
			fires[f.alert] = true
		}
	}
	for _, r := range alerts(t) {
		assert.True(t, fires[r.Alert], "no situation in which %s fires", r.Alert)
	}
}

// panel is what a test looks at of a panel of a dashboard.
type panel struct {
	ID         int    `json:"id"`
	Title      string `json:"title"`
	Type       string `json:"type"`
	Datasource struct {
		Type string `json:"type"`
		UID  string `json:"uid"`
	} `json:"datasource"`
	GridPos struct{ H, W, X, Y int } `json:"gridPos"`
	Targets []struct {
		Expr  string `json:"expr"`
		RefID string `json:"refId"`
	} `json:"targets"`
	FieldConfig struct {
		Defaults struct {
			Thresholds struct {
				Steps []struct {
					Color string   `json:"color"`
					Value *float64 `json:"value"` // from which on; nil: from the least
				} `json:"steps"`
			} `json:"thresholds"`
			Mappings []struct {
				Options map[string]struct {
					Color string `json:"color"`
				} `json:"options"`
			} `json:"mappings"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
}

// alarming are queries for what of expr the panel shows in red or orange.
func (p panel) alarming(expr string) (out []string) {
	wrong := func(color string) bool { return color == "red" || color == "orange" }
	steps := p.FieldConfig.Defaults.Thresholds.Steps
	for i, s := range steps {
		if !wrong(s.Color) {
			continue
		}
		q := "(" + expr + ")"
		if s.Value != nil {
			q += fmt.Sprintf(" >= %v", *s.Value)
		}
		if i+1 < len(steps) {
			q = fmt.Sprintf("(%s) < %v", q, *steps[i+1].Value)
		}
		out = append(out, q)
	}
	for _, m := range p.FieldConfig.Defaults.Mappings {
		for value, as := range m.Options {
			if wrong(as.Color) {
				out = append(out, "("+expr+") == "+value)
			}
		}
	}
	return out
}

type dashboard struct {
	Title         string `json:"title"`
	UID           string `json:"uid"`
	SchemaVersion int    `json:"schemaVersion"`
	Time          struct{ From, To string }
	Annotations   struct {
		List []struct {
			Name string `json:"name"`
			Expr string `json:"expr"`
		} `json:"list"`
	} `json:"annotations"`
	Templating struct {
		List []struct {
			Name  string `json:"name"`
			Type  string `json:"type"`
			Query any    `json:"query"`
		} `json:"list"`
	} `json:"templating"`
	Panels []panel `json:"panels"`
}

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	var d dashboard
	require.NoError(t, json.Unmarshal([]byte(read(t, pack+"dashboard.json")), &d))
	return d
}

func TestDashboardHasTheShapeOfOne(t *testing.T) {
	d, known := readDashboard(t), metricsInCode(t)
	assert.NotEmpty(t, d.Title)
	assert.NotEmpty(t, d.UID)
	assert.GreaterOrEqual(t, d.SchemaVersion, 36)
	variables := map[string]bool{"__rate_interval": true}
	for _, v := range d.Templating.List {
		variables[v.Name] = true
	}
	ids := map[int]bool{}
	for i, p := range d.Panels {
		assert.False(t, ids[p.ID], "two panels %d", p.ID)
		ids[p.ID] = true
		assert.NotEmpty(t, p.Title)
		assert.Contains(t, []string{"row", "stat", "table", "timeseries", "state-timeline", "heatmap", "bargauge"}, p.Type, p.Title)
		g := p.GridPos
		assert.True(t, g.W > 0 && g.H > 0 && g.X >= 0 && g.X+g.W <= 24, "%s: %+v", p.Title, g)
		for _, o := range d.Panels[:i] {
			h := o.GridPos
			assert.False(t, g.X < h.X+h.W && h.X < g.X+g.W && g.Y < h.Y+h.H && h.Y < g.Y+g.H, "%s is over %s", p.Title, o.Title)
		}
		if p.Type == "row" {
			continue
		}
		assert.Equal(t, []string{"prometheus", "${datasource}"}, []string{p.Datasource.Type, p.Datasource.UID}, p.Title)
		assert.NotEmpty(t, p.Targets, p.Title)
		for _, q := range p.Targets {
			assert.NotEmpty(t, q.RefID, p.Title)
			names := metricWord.FindAllString(q.Expr, -1)
			assert.NotEmpty(t, names, "%s: %s", p.Title, q.Expr)
			for _, name := range names {
				assert.True(t, known[name] || known[histogramPart.ReplaceAllString(name, "")], "%s: %s", p.Title, name)
			}
			for _, m := range variable.FindAllStringSubmatch(q.Expr, -1) {
				assert.True(t, variables[m[1]], "%s: $%s", p.Title, m[1])
			}
		}
	}
}

// Every query that looks at series of keepvip looks at those of the clusters that were chosen, and tells clusters apart.
func TestDashboardTellsClustersApart(t *testing.T) {
	d := readDashboard(t)
	exprs := map[string]string{}
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			exprs[p.Title+" "+q.RefID] = q.Expr
		}
	}
	require.NotEmpty(t, d.Annotations.List)
	for _, a := range d.Annotations.List {
		exprs[a.Name] = a.Expr
		for _, name := range metricWord.FindAllString(a.Expr, -1) {
			assert.True(t, metricsInCode(t)[name], "%s: %s", a.Name, name)
		}
	}
	for what, expr := range exprs {
		assert.Equal(t, len(metricWord.FindAllString(expr, -1)), strings.Count(expr, `cluster=~"$cluster"`), "%s: %s", what, expr)
		for _, labels := range grouping.FindAllStringSubmatch(expr, -1) {
			assert.True(t, strings.HasPrefix(labels[1], "cluster, job") || strings.Contains("reason le", labels[1]), "%s: %s", what, expr)
		}
	}
}

// grouping are the labels that a query keeps or matches.
var grouping = regexp.MustCompile(`\b(?:by|on) \(([^)]*)\)`)

// variable is one of Grafana's in a query.
var variable = regexp.MustCompile(`\$(\w+)`)

// What scrapes pods finds those that keepvip prints.
func TestMonitorsFindThePods(t *testing.T) {
	type printed struct {
		Metadata struct {
			Namespace string            `json:"namespace"`
			Labels    map[string]string `json:"labels"`
		} `json:"metadata"`
		Spec struct {
			Containers []struct {
				Ports []struct {
					Name string `json:"name"`
				} `json:"ports"`
			} `json:"containers"`
		} `json:"spec"`
	}
	podOf := func(follower bool) (pod printed) {
		text, err := kubeadm.Pod(kubeadm.PodConfig{
			Node:  kubeadm.Node{Args: []string{"--vip=10.0.0.100"}, Socket: "/run/keepvip/keepvip.sock", StateDir: "/var/lib/keepvip", Follower: follower},
			Image: "keepvip:v1", Metrics: "127.0.0.1:9645", MetricsPort: 9645,
		})
		require.NoError(t, err)
		require.NoError(t, yaml.Unmarshal(text, &pod))
		return pod
	}
	type object struct {
		Kind     string         `json:"kind"`
		Metadata map[string]any `json:"metadata"`
		Spec     map[string]any `json:"spec"`
	}
	pods := map[string]printed{"keepvip": podOf(false), "keepvip-follower": podOf(true)}
	kinds, found := map[string]int{}, map[string]bool{}
	for _, file := range []string{"podmonitor.yaml", "servicemonitor.yaml"} {
		for text := range strings.SplitSeq(read(t, pack+file), "\n---\n") {
			var o object
			require.NoError(t, yaml.Unmarshal([]byte(text), &o), file)
			kinds[o.Kind]++
			name := o.Metadata["name"].(string)
			pod, known := pods[name]
			require.True(t, known, name)
			found[name] = true
			assert.Equal(t, pod.Metadata.Namespace, o.Metadata["namespace"], o.Kind)
			selector := o.Spec["selector"].(map[string]any)
			if labels, ok := selector["matchLabels"].(map[string]any); ok {
				selector = labels
			}
			for k, v := range selector {
				assert.Equal(t, pod.Metadata.Labels[k], v, o.Kind)
			}
			assert.Regexp(t, `(?m)^ +(- port|targetPort): metrics$`, text, "the port's name")
		}
	}
	assert.Equal(t, map[string]int{"PodMonitor": 2, "Service": 1, "ServiceMonitor": 1}, kinds)
	assert.Len(t, found, len(pods))
	for _, pod := range pods {
		assert.Equal(t, "metrics", pod.Spec.Containers[0].Ports[0].Name)
	}
	files, err := filepath.Glob(pack + "*")
	require.NoError(t, err)
	for _, f := range files {
		assert.Contains(t, read(t, "monitoring.md"), filepath.Base(f), "docs/monitoring.md says what it is for")
	}
}
