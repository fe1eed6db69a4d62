package health

import (
	"crypto/tls"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
)

// asking is a server that answers 200 to who has given a name or a token, and the files to reach it with.
func asking(t *testing.T) (url, ca string) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		known := len(r.TLS.PeerCertificates) > 0 && r.TLS.PeerCertificates[0].Subject.CommonName == "prober"
		if !known && r.Header.Get("Authorization") != "Bearer s3cret" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	s.StartTLS()
	t.Cleanup(s.Close)
	ca = filepath.Join(t.TempDir(), "ca.crt")
	put(t, ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	return s.URL, ca
}

func put(t *testing.T, path string, data []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path+".new", data, 0o600))
	require.NoError(t, os.Rename(path+".new", path)) // as certificates are replaced
}

func TestProbeShowsItsClientCertificate(t *testing.T) {
	url, ca := asking(t)
	dir, err := os.MkdirTemp("", "kv") // t.TempDir names the test, and a reason is cut where it becomes too long
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	p, err := newHTTPProber(given(config.ListedCheck{URL: url, CA: ca, ServerName: "example.com", ClientCert: certFile, ClientKey: keyFile}))
	require.NoError(t, err)

	r := p.Probe(t.Context())
	assert.Equal(t, Result{Outcome: Fail, Reason: "client certificate " + certFile + ": no such file or directory", Hint: "the check cannot run without it"}, r)

	cert, key := keyPair(t, "other")
	put(t, certFile, cert)
	put(t, keyFile, key)
	r = undated(p.Probe(t.Context()))
	assert.Equal(t, Result{Outcome: Fail, Reason: "401", Hint: "the server does not accept the check's certificate or token", Code: code.CheckStatus}, r)

	cert, key = keyPair(t, "prober")
	put(t, certFile, cert)
	assert.Contains(t, p.Probe(t.Context()).Reason, "private key does not match", "in the moment between the two")
	put(t, keyFile, key)
	assert.Equal(t, Result{Reason: "200"}, undated(p.Probe(t.Context())))
	assert.Equal(t, Result{Reason: "200"}, undated(p.Probe(t.Context())))

	both := filepath.Join(dir, "both.pem")
	put(t, both, append(cert, key...))
	assert.Equal(t, Result{Reason: "200"}, probe(t, config.ListedCheck{URL: url, ClientCert: both}), "as the kubelet keeps it, in one file")
}

func TestProbeSendsItsToken(t *testing.T) {
	url, ca := asking(t)
	token := filepath.Join(t.TempDir(), "token")
	p, err := newHTTPProber(given(config.ListedCheck{URL: url, CA: ca, ServerName: "example.com", TokenFile: token}))
	require.NoError(t, err)
	for _, tt := range []struct {
		name, give, want string
	}{
		{"empty", "\n", "token file " + token + ": empty, want a bearer token"},
		{"two lines", "a\nb", "token file " + token + ": white space or control characters within, want one bearer token"},
		{"wrong", "nonsense", "401"},
		{"right", " s3cret\n", "200"},
	} {
		put(t, token, []byte(tt.give))
		assert.Equal(t, tt.want, p.Probe(t.Context()).Reason, tt.name)
	}
	require.NoError(t, os.Remove(token))
	assert.Equal(t, "token file "+token+": no such file or directory", p.Probe(t.Context()).Reason)
}

func TestProbeGivesItsTokenToNobodyUnverified(t *testing.T) {
	_, err := newHTTPProber(given(config.ListedCheck{URL: "https://127.0.0.1/", TokenFile: "/token"}))
	assert.EqualError(t, err, "health: a bearer token for a server that is not verified, want a CA file beside it")
	_, err = newHTTPProber(given(config.ListedCheck{URL: "http://127.0.0.1/", CA: "/ca", TokenFile: "/token"}))
	assert.EqualError(t, err, "health: a CA, client certificate or token for http, want an https URL")

	url, _ := asking(t)
	ca, token := filepath.Join(t.TempDir(), "ca"), filepath.Join(t.TempDir(), "token")
	put(t, ca, selfSigned(t))
	put(t, token, []byte("s3cret"))
	r := probe(t, config.ListedCheck{URL: url, CA: ca, ServerName: "example.com", TokenFile: token})
	assert.Contains(t, r.Reason, "certificate not trusted", "nothing was sent")
}

func TestProbeExpectsTheConfiguredCodes(t *testing.T) {
	for _, tt := range []struct {
		status int
		want   Outcome
	}{{200, Fail}, {204, Pass}, {301, Pass}, {401, Fail}, {500, Fail}} {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(tt.status) })
		assert.Equal(t, tt.want, probe(t, config.ListedCheck{URL: url, Codes: []int{204, 301}}).Outcome, tt.status)
	}
}
