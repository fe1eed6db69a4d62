package config

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPresetStandsForAnAPIServer(t *testing.T) {
	load := func(flags map[string][]string) Check {
		flags["vip"] = []string{"10.77.0.100"}
		c, err := Load(Input{Flags: flags})
		require.NoError(t, err)
		return c.VIPs[0].Check
	}
	for _, p := range presets {
		h := load(map[string][]string{"check": {p.name}})
		assert.Equal(t, p.name, h.URL, "what was written stays")
		assert.Equal(t, p.url, h.Resolved().URL)
		assert.Equal(t, p.ca, h.Resolved().CA)
	}
	own := load(map[string][]string{"check": {"k3s"}, "check-ca": {"/ca"}, "check-server-name": {"api"}}).Resolved()
	assert.Equal(t, "/ca", own.CA)
	assert.Equal(t, "api", own.ServerName)
	plain := load(map[string][]string{"check": {"http://127.0.0.1:80/"}})
	assert.Equal(t, plain, plain.Resolved())
}

func TestSimpleCheckAsOneOfAList(t *testing.T) {
	simple := Check{Interval: time.Second, Timeout: 2 * time.Second, Rise: 4, Fall: 5}
	as := func(l ListedCheck) []ListedCheck {
		l.Interval, l.Timeout, l.Rise, l.Fall, l.Watch = time.Second, 2*time.Second, 4, 5, true
		return []ListedCheck{l}
	}
	for _, tt := range []struct {
		url, ca, name string
		want          []ListedCheck
	}{
		{"none", "", "", nil},
		{"http://h/x", "", "", as(ListedCheck{Kind: CheckHTTP, URL: "http://h/x", Insecure: true})},
		{"https://h/x", "", "", as(ListedCheck{Kind: CheckHTTPS, URL: "https://h/x", Insecure: true})},
		{"https://h/x", "/ca", "", as(ListedCheck{Kind: CheckHTTPS, URL: "https://h/x", CA: "/ca", ServerName: "kubernetes"})},
		{"https://h/x", "/ca", "api", as(ListedCheck{Kind: CheckHTTPS, URL: "https://h/x", CA: "/ca", ServerName: "api"})},
		{"k3s", "", "", as(ListedCheck{Kind: CheckHTTPS, URL: "https://127.0.0.1:6443/readyz", CA: "/var/lib/rancher/k3s/server/tls/server-ca.crt", ServerName: "kubernetes"})},
		{"k0s", "", "", as(ListedCheck{
			Kind: CheckHTTPS, URL: "https://127.0.0.1:6443/readyz", CA: "/var/lib/k0s/pki/ca.crt", ServerName: "kubernetes",
			Further: []string{"127.0.0.1:9443", "127.0.0.1:8132"},
		})},
		{"tcp://127.0.0.1:5432", "", "", as(ListedCheck{Kind: CheckTCP, Address: "127.0.0.1:5432", Insecure: true})},
	} {
		v := VIP{Check: simple, Spread: Spread{Via: ViaOff}}
		v.Check.URL, v.Check.CA, v.Check.ServerName = tt.url, tt.ca, tt.name
		assert.Equal(t, tt.want, v.AllChecks(), tt.url)
		v.Checks = []ListedCheck{{Kind: CheckFile}}
		assert.Equal(t, v.Checks, v.AllChecks(), "the list takes its place")
	}
}

// A port that is spread has a look of its own.
func TestPresetLooksAtNoFurtherPortThatIsSpread(t *testing.T) {
	v := VIP{Check: Check{URL: "rke2"}, Spread: Spread{Via: ViaOff}}
	assert.Equal(t, []string{"127.0.0.1:9345"}, v.AllChecks()[0].Further)
	v.Spread = Spread{Via: ViaDirect, Ports: []SpreadPort{{Port: 6443, Protocol: ProtocolTCP}, {Port: 9345, Protocol: ProtocolTCP}}}
	assert.Empty(t, v.AllChecks()[0].Further)
}

func TestPresetInTheFile(t *testing.T) {
	c, err := Load(Input{Env: []string{EnvInline + "=apiVersion: keepvip/v1\nkind: Config\nvips:\n- addresses: [10.77.0.100]\n  check: {url: rke2, interval: 1s}\n"}})
	require.NoError(t, err)
	assert.Equal(t, "/var/lib/rancher/rke2/server/tls/server-ca.crt", c.VIPs[0].Check.Resolved().CA)
}

func TestSimpleCheckRefuses(t *testing.T) {
	for give, want := range map[string]string{
		"k4s":             "config: --check: k4s, want a URL, kubeadm, k3s, rke2, k0s or none",
		"K3S":             "config: --check: K3S, want a URL, kubeadm, k3s, rke2, k0s or none",
		"tcp://127.0.0.1": "config: --check: tcp://127.0.0.1, want tcp://host:port such as tcp://127.0.0.1:5432",
		"ftp://h/":        "config: --check: ftp://h/, want an http or https URL such as https://127.0.0.1:6443/readyz, tcp://host:port, kubeadm, k3s, rke2, k0s or none; other kinds go under checks",
	} {
		c, err := Load(Input{Flags: map[string][]string{"vip": {"10.77.0.100"}, "check": {give}}})
		assert.EqualError(t, err, want)
		assert.Nil(t, c)
	}
	_, err := Load(Input{Flags: map[string][]string{"vip": {"10.77.0.100"}, "check": {"tcp://h:1"}, "check-ca": {"/ca"}}})
	assert.ErrorContains(t, err, "want an https URL or no CA")
}
