package health

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
)

// probe takes one look. When the certificate expires is for another test to say.
func probe(t *testing.T, cfg config.ListedCheck) Result {
	t.Helper()
	cfg.Timeout = cmp.Or(cfg.Timeout, patience)
	cfg = given(cfg)
	p, err := newHTTPProber(cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), cfg.Timeout)
	defer cancel()
	return undated(p.Probe(ctx))
}

func undated(r Result) Result {
	r.Expires = time.Time{}
	return r
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

// listen hands every accepted connection to fn, which may keep it.
func listen(t *testing.T, fn func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			if fn != nil {
				go fn(conn)
			}
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

func TestProbeStatus(t *testing.T) {
	tests := []struct {
		status int
		want   Outcome
		hint   string
	}{
		{200, Pass, ""},
		{204, Fail, ""},
		{302, Fail, "redirects are not followed"},
		{400, Fail, "https"},
		{401, Pass, "anonymous"},
		{403, Fail, "normal for some seconds"},
		{404, Fail, ""},
		{429, Fail, ""},
		{500, Fail, ""},
		{503, Fail, ""},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.status), func(t *testing.T) {
			r := probe(t, config.ListedCheck{URL: serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "https://127.0.0.1:1/")
				w.WriteHeader(tt.status)
			})})
			assert.Equal(t, tt.want, r.Outcome)
			assert.Equal(t, fmt.Sprint(tt.status), r.Reason)
			assert.Contains(t, r.Hint, tt.hint)
			assert.False(t, r.Broken)
		})
	}
}

func TestProbeAsksByGETOnANewConnection(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	var seen []string
	var from []string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, fmt.Sprintf("%s %s %s close=%v", r.Method, r.URL, r.Proto, r.Close))
		from = append(from, r.RemoteAddr)
		io.WriteString(w, "ok")
	})
	p, err := newHTTPProber(given(config.ListedCheck{URL: url + "/readyz?exclude=etcd"}))
	require.NoError(t, err)
	for range 2 {
		assert.Equal(t, Result{Outcome: Pass, Reason: "200"}, undated(p.Probe(t.Context())))
	}
	assert.Equal(t, []string{"GET /readyz?exclude=etcd HTTP/1.1 close=true", "GET /readyz?exclude=etcd HTTP/1.1 close=true"}, seen)
	assert.NotEqual(t, from[0], from[1])
}

func TestProbeExchangesKeysAsCheaplyAsItCan(t *testing.T) {
	t.Parallel()
	var by tls.CurveID
	s := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { by = r.TLS.CurveID }))
	defer s.Close()
	p, err := newHTTPProber(given(config.ListedCheck{URL: s.URL}))
	require.NoError(t, err)
	require.Equal(t, Pass, p.Probe(t.Context()).Outcome)
	assert.Equal(t, tls.X25519, by)
}

func TestProbePlainHTTP(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }))
	defer s.Close()
	assert.Equal(t, Result{Outcome: Pass, Reason: "200"}, probe(t, config.ListedCheck{URL: s.URL}))

	r := probe(t, config.ListedCheck{URL: strings.Replace(s.URL, "http:", "https:", 1)})
	assert.Equal(t, Fail, r.Outcome)
	assert.Equal(t, "no TLS on this port", r.Reason)
}

func TestProbeSkipsInterimAnswers(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		io.WriteString(w, "ok")
	})
	assert.Equal(t, Result{Outcome: Pass, Reason: "200"}, probe(t, config.ListedCheck{URL: url}))
}

func TestProbeRefusedIsDefinite(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l.Close()
	assert.Equal(t, Result{Outcome: Down, Reason: "connection refused", Code: code.CheckRefused}, probe(t, config.ListedCheck{URL: "https://" + l.Addr().String()}))
}

func TestProbeServerThatHangs(t *testing.T) {
	const budget = 3 * time.Second // enough for a handshake on a machine that stands still for a while
	drip := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, "."); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
	tests := []struct {
		name string
		url  string
		want string
	}{
		{"accepts and is silent", "https://" + listen(t, nil), "timeout after 3s in the TLS handshake"},
		{"silent by http", "http://" + listen(t, nil), "timeout after 3s waiting for the answer"},
		{"silent after the handshake", serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), "timeout after 3s waiting for the answer"},
		{"body in drops", serve(t, drip), "timeout after 3s reading the answer"},
		{"header in drops", "http://" + listen(t, func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nX-")
		}), "timeout after 3s reading the answer"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			assert.Equal(t, Result{Outcome: Fail, Reason: tt.want, Code: code.CheckTimeout}, probe(t, config.ListedCheck{URL: tt.url, Timeout: budget}))
			assert.Less(t, time.Since(start), patience)
		})
	}
}

func TestProbeEndlessAnswerIsBounded(t *testing.T) {
	flood := strings.Repeat("x", 32<<10)
	tests := []struct {
		name string
		url  string
	}{
		{"body of a gigabyte", serve(t, func(w http.ResponseWriter, _ *http.Request) {
			for range 32 << 10 {
				if _, err := io.WriteString(w, flood); err != nil {
					return
				}
			}
		})},
		{"headers without end", "http://" + listen(t, func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			for i := 0; ; i++ {
				if _, err := fmt.Fprintf(c, "X-%d: %s\r\n", i, flood[:1000]); err != nil {
					return
				}
			}
		})},
		{"interim answers without end", "http://" + listen(t, func(c net.Conn) {
			for {
				if _, err := io.WriteString(c, "HTTP/1.1 102 Processing\r\n\r\n"); err != nil {
					return
				}
			}
		})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r := probe(t, config.ListedCheck{URL: tt.url})
			runtime.ReadMemStats(&after)
			assert.Equal(t, Result{Outcome: Fail, Reason: "answer longer than 65536 bytes"}, r)
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20), "server included")
		})
	}
}

func TestProbeCutConnection(t *testing.T) {
	cut := func(text string) string {
		return "http://" + listen(t, func(c net.Conn) {
			io.WriteString(c, text)
			c.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, c)
		})
	}
	tests := []struct {
		name, url, want string
	}{
		{"in the handshake", strings.Replace(cut(""), "http:", "https:", 1), "connection cut in the TLS handshake"},
		{"before the answer", cut(""), "connection cut waiting for the answer"},
		{"in the header", cut("HTTP/1.1 200 OK\r\n"), "connection cut reading the answer"},
		{"in the body", cut("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok"), "connection cut reading the answer"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, Result{Outcome: Fail, Reason: tt.want, Broken: true, Code: code.CheckCut}, probe(t, config.ListedCheck{URL: tt.url}))
		})
	}
}

func TestProbeGarbage(t *testing.T) {
	r := probe(t, config.ListedCheck{URL: "http://" + listen(t, func(c net.Conn) { io.WriteString(c, "SSH-2.0-OpenSSH\r\n\r\n") })})
	assert.Equal(t, Fail, r.Outcome)
	assert.Contains(t, r.Reason, "malformed HTTP")
	assert.NotContains(t, r.Reason, "\n")
}

func TestProbeVerifiesAgainstTheCA(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer s.Close()
	ca := filepath.Join(t.TempDir(), "ca.crt")
	cfg := given(config.ListedCheck{URL: s.URL, CA: ca, ServerName: "example.com", Timeout: 5 * time.Second}) // httptest's certificate has that name
	p, err := newHTTPProber(cfg)
	require.NoError(t, err)

	r := p.Probe(t.Context())
	assert.Equal(t, Fail, r.Outcome, "the CA file may come later, until then nothing is trusted")
	assert.Equal(t, "CA file "+ca+": no such file or directory", r.Reason)

	require.NoError(t, os.WriteFile(ca, []byte("nothing"), 0o600))
	assert.Equal(t, "CA file "+ca+": no certificate in it, want PEM", p.Probe(t.Context()).Reason)

	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	require.NoError(t, os.WriteFile(ca, block, 0o600))
	expires := s.Certificate().NotAfter
	assert.Equal(t, Result{Outcome: Pass, Reason: "200", Expires: expires}, p.Probe(t.Context()))

	cfg.ServerName = "" // kubernetes
	r = probe(t, cfg)
	assert.Equal(t, Fail, r.Outcome)
	assert.Contains(t, r.Reason, "certificate not trusted: ")
	assert.Contains(t, r.Reason, "kubernetes")
	assert.NotEmpty(t, r.Hint)

	require.NoError(t, os.WriteFile(ca, selfSigned(t), 0o600))
	r = p.Probe(t.Context())
	assert.Equal(t, Fail, r.Outcome)
	assert.Contains(t, r.Reason, "certificate not trusted: ")
	assert.Equal(t, expires, r.Expires, "also of one that is refused")

	require.NoError(t, os.Remove(ca))
	assert.Contains(t, p.Probe(t.Context()).Reason, "no such file", "a CA that is gone is trusted no longer")
}

func TestProbeKeepsNoDescriptors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts: the kernel completes the connection, TLS hangs
	require.NoError(t, err)
	defer l.Close()
	p, err := newHTTPProber(given(config.ListedCheck{URL: "https://" + l.Addr().String()}))
	require.NoError(t, err)
	once := func() {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		require.Equal(t, Fail, p.Probe(ctx).Outcome)
	}
	once()
	fds, goroutines := descriptors(t), runtime.NumGoroutine()
	for range 50 {
		once()
	}
	assert.InDelta(t, fds, descriptors(t), 10)
	assert.InDelta(t, goroutines, runtime.NumGoroutine(), 10)
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

func TestServerNameThatIsVerified(t *testing.T) {
	for _, tt := range []struct{ url, ca, named, want string }{
		{"https://registry.local/v2", "/ca", "", "registry.local"},
		{"https://registry.local/v2", "/ca", "other", "other"},
		{"https://[::1]:1/", "/ca", "", apiserverName},
		{"https://[::1]:1/", "", "", ""},
		{"https://[fe80::1%25eth0]:6443/readyz", "/ca", "", apiserverName},
		{"https://[fe80::1%25eth0]:6443/readyz", "/ca", "other", "other"},
		{"https://[fe80::1%25eth0]:6443/readyz", "", "", ""},
	} {
		p, err := newHTTPProber(config.ListedCheck{URL: tt.url, CA: tt.ca, ServerName: tt.named})
		require.NoError(t, err)
		assert.Equal(t, tt.want, p.tls.ServerName, "%+v", tt)
	}
}
