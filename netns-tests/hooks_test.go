//go:build netns

package netnstests

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// hooked is a file with hooks for the only entry, which flags describe. Its directory is for scripts and for what they write.
func hooked(t *testing.T, scripts map[string]string, hooks ...string) (file, dir string) {
	t.Helper()
	dir, err := os.MkdirTemp("/run", "keepvip-hooks-") // root's alone, as what root runs has to be
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	for name, text := range scripts {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
	}
	text := fileHead + "vips:\n- addresses: [" + lab.VIP4.String() + "]\n  hooks:\n"
	for _, h := range hooks {
		text += "  - " + strings.ReplaceAll(h, "DIR", dir) + "\n"
	}
	file = filepath.Join(dir, "keepvip.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	return file, dir
}

// Hooks that hang, fork, print a gigabyte and fail, at each change of state: an election at 10 ms does not notice. With such an interval
// other labs beside it would move the address.
func TestHooksCannotMoveTheElection(t *testing.T) {
	file, _ := hooked(t, map[string]string{
		"hang":  "#!/bin/sh\nsleep 3600\n",
		"fork":  "#!/bin/sh\nsleep 3600 &\nsleep 3600 &\nsleep 3600\n",
		"print": "#!/bin/sh\nexec head -c 1073741824 /dev/zero\n",
		"fail":  "#!/bin/sh\necho no route >&2\nexit 1\n",
	},
		"{command: [DIR/hang], user: root, timeout: 2s}", "{command: [DIR/fork], user: '65534', timeout: 2s}",
		"{command: [DIR/print], user: '65534'}", "{command: [DIR/fail], user: '65534'}")
	g := open(t, trial.Config{Product: trial.Keepvip{Args: []string{"--config", file}}, Interval: 10 * time.Millisecond})
	settled(t, g)
	m := must(g.Lab.Measure(lab.MeasureConfig{}))(t)
	at := m.Mark("hooks hang")
	settleFor(2 * time.Second)
	r := m.Stop()
	t.Logf("longest outage %s ms", lab.Milliseconds(r.Longest()))
	assert.LessOrEqual(t, r.Takeovers(lab.VIP4, at), 2*r.BySilence(at), "a takeover from a holder that advertised")
	// The address moves as fast as without them, and a keepvip that ends does not wait for them.
	measure(t, g, trial.Terminated)
}

// docs/hooks.md: a route and a rule follow the address.
func TestRecipeRoutes(t *testing.T) {
	t.Parallel()
	file, _ := hooked(t, map[string]string{"routes.sh": recipeOf(t, "hooks.md", "# routes.sh TYPE")}, "{command: [DIR/routes.sh], user: root}")
	g := open(t, trial.Config{Product: trial.Keepvip{Args: []string{"--config", file}}})
	follow := func(holder *lab.Node) {
		t.Helper()
		for _, n := range g.Lab.Nodes {
			want := map[bool]string{true: "route rule", false: ""}[n == holder]
			have := ""
			eventually(t, 10*time.Second, fmt.Sprintf("%s has %q", n.Label, want), func() bool {
				routes := must(n.Run("ip", "route", "show", "192.0.2.0/24"))(t)
				rules := must(n.Run("ip", "rule", "show", "priority", "1000"))(t)
				have = ""
				if strings.Contains(routes, "src 10.77.0.100") {
					have = "route"
				}
				if strings.Contains(rules, "from 10.77.0.100 lookup 100") {
					have = strings.TrimSpace(have + " rule")
				}
				return have == want
			})
		}
	}
	holder := settled(t, g)
	follow(holder)
	require.Equal(t, 0, command(t, holder, "handover"))
	next := settled(t, g)
	require.NotEqual(t, holder, next)
	follow(next)
	require.Zero(t, must(g.Daemon(next).Terminate(10*time.Second))(t))
	follow(settled(t, g))
}

// A drill leaves the address where it was, or says that no other node took it in time, which the capture must not refute. It is refused while another node
// is not well.
func TestDrillMeasuresWhatAClientSees(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{API: true})
	for _, kind := range []string{"handover", "stop", "check"} {
		run, err := g.Drill(kind)
		require.NoError(t, err, g.Logs())
		t.Logf("%s: the lab's client missed %v, the bystander %v, at most %v is documented; not taken in time: %v", kind, run.Outage, run.Bystander.Missed(),
			time.Duration(run.Bystander.Bound*float64(time.Second)), run.NotTaken)
		assert.NoError(t, run.Judge())
		assert.Zero(t, run.Finders, "time with two nodes answering ARP in %s", kind)
	}
	holder := settled(t, g)
	backup := g.Lab.Nodes[holder.ID%3]
	assert.Equal(t, 1, command(t, backup, "drill", "apiserver"), "it holds nothing")
	require.Equal(t, 0, command(t, backup, "drain"))
	knowsUnfit(t, holder, backup)
	assert.Equal(t, 3, command(t, holder, "drill", "apiserver"), "another one is drained")
	assert.Equal(t, []*lab.Node{holder}, g.Holders())
}

// Whatever breaks a drill, one node holds the address afterwards, and two never answered.
func TestBrokenDrillLeavesAWorkingCluster(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{API: true})
	for how, after := range map[trial.DrillBreak]time.Duration{
		trial.BreakCommand: 600 * time.Millisecond, trial.BreakDaemon: 800 * time.Millisecond,
	} {
		res := measure(t, g, trial.DrillBroken("stop", after, how))
		assert.Zero(t, res.Finders, res.Fault)
	}
}

// certificateOf is a certificate for the node, in one file with its key.
func certificateOf(t *testing.T, n *lab.Node, name string) string {
	t.Helper()
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{n.Address.AsSlice()},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der := must(x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key))(t)
	private := must(x509.MarshalPKCS8PrivateKey(key))(t)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})) + string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}

// Other hosts are told the metrics and nothing else, by TLS and with the token where these are given, and nobody at the virtual address.
func TestMetricsForOtherHosts(t *testing.T) {
	t.Parallel() // waits for an election
	g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 2}})
	n1, n2 := g.Lab.Nodes[0], g.Lab.Nodes[1]
	const first = "correct-horse-battery-staple"
	pair := must(n1.WriteFile("pair.pem", certificateOf(t, n1, "first"), 0o600))(t)
	token := must(n1.WriteFile("token", first+"\n", 0o600))(t)
	run := func(n *lab.Node, metrics string, args ...string) *lab.Process {
		t.Helper()
		k := trial.Keepvip{Metrics: metrics, Args: args}
		return must(k.Run(n, "--vip", lab.VIP4.String(), "--interface", n.NICs[0].Name, "--check", "none"))(t)
	}
	p1 := run(n1, "0.0.0.0:9645", "--priority", "200", "--metrics-certificate", pair, "--metrics-token-file", token)
	p2 := run(n2, n2.Address.String()+":9645", "--metrics-keepalived-names")
	eventually(t, 10*time.Second, "n1 holds", func() bool { return n1.Holds(lab.VIP4) })

	// ask is the status of an answer and its text; "000": none.
	ask := func(from *lab.Node, url, token string) (string, string) {
		args := []string{"-s", "-k", "-m", "5", "-w", "\n%{http_code}"}
		if token != "" {
			args = append(args, "-H", "Authorization: Bearer "+token)
		}
		out, _ := from.Run("curl", append(args, url)...) // its exit status is that of the answer
		at := strings.LastIndexByte(out, '\n')
		return out[at+1:], out[:max(at, 0)]
	}
	secure, plain, vip := "https://"+n1.Address.String()+":9645", "http://"+n2.Address.String()+":9645", lab.VIP4.String()+":9645"
	for _, tt := range []struct {
		what       string
		from       *lab.Node
		url, token string
		want       string
	}{
		{"with the token", n2, secure + "/metrics", first, "200"},
		{"without", n2, secure + "/metrics", "", "401"},
		{"no readiness outside", n2, secure + "/readyz", first, "404"},
		{"plain HTTP where TLS is wanted", n2, "http://" + n1.Address.String() + ":9645/metrics", first, "400"},
		{"nobody at the virtual address", n2, "https://" + vip + "/metrics", first, "000"},
		{"nor the holder itself", n1, "https://" + vip + "/metrics", first, "000"},
		{"the kubelet of the node", n1, "http://127.0.0.1:9645/readyz", "", "200"},
		{"a plain listener", n1, plain + "/metrics", "", "200"},
		{"and no liveness there", n1, plain + "/livez", "", "404"},
		{"loopback beside an address", n2, "http://127.0.0.1:9645/livez", "", "200"},
	} {
		status, _ := ask(tt.from, tt.url, tt.token)
		assert.Equal(t, tt.want, status, tt.what)
	}

	_, told := ask(n1, plain+"/metrics", "")
	for _, line := range []string{"keepvip_state{state=\"backup\",vip=\"apiserver\"} 1", "keepalived_up 1", "keepvip_config_last_reload_successful 1"} {
		assert.Contains(t, told, "\n"+line+"\n")
	}
	lint := exec.CommandContext(t.Context(), "promtool", "check", "metrics")
	lint.Stdin = strings.NewReader(told + "\n")
	out, err := lint.CombinedOutput()
	require.NoError(t, err, "%s", out)

	for _, p := range []*lab.Process{p1, p2} {
		assert.NotContains(t, p.Log(), first, "no secret in the log")
	}
}

// Another host opens thousands of connections to the metrics of the holder, and asks all the time. The election, each 10 ms, and the
// kubelet's probes do not notice.
func TestMetricsListenerWithstandsAnotherHost(t *testing.T) {
	const interval = 10 * time.Millisecond
	g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 2}})
	n1, n2 := g.Lab.Nodes[0], g.Lab.Nodes[1]
	pair := must(n1.WriteFile("pair.pem", certificateOf(t, n1, "n1"), 0o600))(t)
	start := func(n *lab.Node, metrics string, args ...string) *lab.Process {
		t.Helper()
		p := must(trial.Keepvip{Metrics: metrics, Args: args}.Run(n, "--vip", lab.VIP4.String(), "--interface", n.NICs[0].Name, "--check", "none",
			"--advertisement-interval", interval.String(), "--realtime"))(t)
		return p
	}
	p := start(n1, "0.0.0.0:9645", "--priority", "200", "--metrics-certificate", pair)
	start(n2, "")
	eventually(t, 10*time.Second, "n1 holds", func() bool { return n1.Holds(lab.VIP4) })
	m := must(g.Lab.Measure(lab.MeasureConfig{}))(t)
	at := m.Mark("flood")
	callers := must(n2.StartCallers(lab.CallersConfig{
		Network: "tcp", Address: netip.AddrPortFrom(n1.Address, 9645).String(), User: 1000, Equal: true, Idle: 2000, Busy: 50, Say: "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n",
	}))(t)
	asked, missed := 0, 0
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); asked++ {
		if status, err := n1.Ask(netip.MustParseAddrPort("127.0.0.1:9645"), "/livez", 2*time.Second); err != nil || status != "200" {
			missed++
		}
		settleFor(100 * time.Millisecond)
	}
	opened := callers.Stop()
	r := m.Stop()
	rss := must(p.PeakRSS())(t)
	t.Logf("%d connections, %d of %d probes missed, %.1f MiB at most", opened, missed, asked, float64(rss)/(1<<20))
	assert.Greater(t, opened, 1000)
	assert.Less(t, rss, int64(40<<20))
	assert.Zero(t, missed)
	assert.LessOrEqual(t, r.Takeovers(lab.VIP4, at), 2*r.BySilence(at), "a takeover from a holder that advertised")
}

// browse shows the page of a node in a browser of its namespace, and returns what the browser has made of it once the node has answered. With
// KEEPVIP_PICTURES it leaves pictures there, wide and narrow, light and dark.
func browse(t *testing.T, n *lab.Node, name string) string {
	t.Helper()
	chromium := func(args ...string) string {
		out := must(n.Run("chromium", append([]string{
			"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars", "--user-data-dir=" + t.TempDir(),
			"--timeout=8000", "--virtual-time-budget=4000", "http://127.0.0.1:9645/",
		}, args...)...))(t)
		return out
	}
	if dir := os.Getenv("KEEPVIP_PICTURES"); dir != "" {
		for _, width := range []int{1280, 400} {
			for i, scheme := range []string{"dark", "light"} {
				chromium(fmt.Sprintf("--screenshot=%s/%s-%d-%s.png", dir, name, width, scheme), fmt.Sprintf("--window-size=%d,900", width),
					fmt.Sprintf("--blink-settings=preferredColorScheme=%d", i))
			}
		}
	}
	var dom string
	eventually(t, trial.SettleLimit, "the page is shown", func() bool {
		dom = chromium("--dump-dom")
		return strings.Contains(dom, `data-shown="yes"`)
	})
	return dom
}

// The page says what status says: who holds the address, the members, the moves, and after the death of a node what is wrong.
func TestPageShowsHolderMembersMovesAndWhatIsWrong(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{Product: trial.Keepvip{Metrics: "127.0.0.1:9645"}})
	settled(t, g)
	measure(t, g, trial.Verb("handover"))
	holder := settled(t, g)
	other := g.Others(holder)[0]
	dom := browse(t, holder, "well")
	assert.Contains(t, dom, "Nothing is wrong")
	assert.Contains(t, dom, holder.Address.String()+")</span>", "the holder, by its name and address")
	for _, n := range g.Lab.Nodes {
		assert.Contains(t, dom, "<td data-of=\"address\">"+n.Address.String()+"</td>")
	}
	assert.Contains(t, dom, "asked by uid 0", "the handover is among the moves")
	said := must(holder.Run("curl", "-sf", "http://127.0.0.1:9645/status"))(t)
	var status struct {
		VIPs []struct{ Holder string }
	}
	require.NoError(t, json.Unmarshal([]byte(said), &status))
	assert.Equal(t, holder.Address.String(), status.VIPs[0].Holder)

	require.NoError(t, g.Daemon(other).Kill9())
	eventually(t, 10*time.Second, "it is missed", func() bool {
		out, err := holder.Run("curl", "-sf", "http://127.0.0.1:9645/status")
		return err == nil && strings.Contains(out, `"silent"`)
	})
	dom = browse(t, holder, "wrong")
	assert.Regexp(t, `nothing is heard of \S+ \(`+regexp.QuoteMeta(other.Address.String())+`\)`, dom)
	assert.Contains(t, dom, "Remedy: ")
	assert.Contains(t, dom, `<p id="asked" role="status" class="bad">`)
}
