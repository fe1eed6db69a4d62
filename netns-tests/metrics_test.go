//go:build netns

package netnstests

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

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

// runTelling runs a keepvip that tells its metrics there.
func runTelling(t *testing.T, n *lab.Node, metrics string, args ...string) *lab.Process {
	t.Helper()
	k := trial.Keepvip{Metrics: metrics, Args: args}
	return must(k.Run(n, "--vip", lab.VIP4.String(), "--interface", n.NICs[0].Name, "--check", "none"))(t)
}

// Other hosts are told the metrics and nothing else, by TLS and with the token where these are given, and nobody at the virtual address.
func TestMetricsForOtherHosts(t *testing.T) {
	t.Parallel() // waits for an election
	g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 2}})
	n1, n2 := g.Lab.Nodes[0], g.Lab.Nodes[1]
	const first = "correct-horse-battery-staple"
	pair := must(n1.WriteFile("pair.pem", certificateOf(t, n1, "first"), 0o600))(t)
	token := must(n1.WriteFile("token", first+"\n", 0o600))(t)
	p1 := runTelling(t, n1, "0.0.0.0:9645", "--priority", "200", "--metrics-certificate", pair, "--metrics-token-file", token)
	p2 := runTelling(t, n2, n2.Address.String()+":9645", "--metrics-keepalived-names")
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
	fast := []string{"--advertisement-interval", interval.String(), "--realtime"}
	p := runTelling(t, n1, "0.0.0.0:9645", append(fast, "--priority", "200", "--metrics-certificate", pair)...)
	runTelling(t, n2, "", fast...)
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
