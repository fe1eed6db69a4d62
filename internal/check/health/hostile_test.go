package health

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
)

// issued is a server's certificate that is valid until then, signed by itself, and a file with it.
func issued(t *testing.T, until time.Time) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "server"}, DNSNames: []string{apiserverName},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: until, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	ca := filepath.Join(t.TempDir(), "ca.crt")
	put(t, ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, ca
}

// certified is a server with that certificate.
func certified(t *testing.T, cert tls.Certificate) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(ok))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

// raw is a server without TLS that writes what it likes.
func raw(t *testing.T, write func(w io.Writer)) string {
	return "http://" + listen(t, func(c net.Conn) { write(c) })
}

// forever writes the same again and again, until nobody reads any more.
func forever(first, again string, between time.Duration) func(w io.Writer) {
	return func(w io.Writer) {
		_, err := io.WriteString(w, first)
		for err == nil {
			_, err = io.WriteString(w, again)
			if between > 0 {
				<-time.After(between)
			}
		}
	}
}

func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if len(header) == 2 {
			w.Header().Set(header[0], header[1])
		}
		w.WriteHeader(code)
	}
}

const hostileTimeout = 3 * time.Second

// hostile are servers that a check must survive, and what it says of each.
var hostile = []struct {
	name string
	give func(t *testing.T) config.ListedCheck
	want Outcome
	why  string // the beginning of the reason
	slow bool   // only its time ends it
}{
	{"TLS handshake stalled", func(t *testing.T) config.ListedCheck {
		return given(config.ListedCheck{URL: "https://" + listen(t, nil)})
	}, Fail, "timeout after 3s in the TLS handshake", true},
	{"accepts without answer", func(t *testing.T) config.ListedCheck {
		return given(config.ListedCheck{URL: "http://" + listen(t, nil)})
	}, Fail, "timeout after 3s waiting for the answer", true},
	{"nobody accepts, the kernel does", func(t *testing.T) config.ListedCheck {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { l.Close() })
		return given(config.ListedCheck{URL: "https://" + l.Addr().String()})
	}, Fail, "timeout after 3s in the TLS handshake", true},
	{"handshake in drops", func(t *testing.T) config.ListedCheck {
		url := raw(t, forever("", "\x16", 20*time.Millisecond))
		return given(config.ListedCheck{URL: strings.Replace(url, "http:", "https:", 1)})
	}, Fail, "", true},
	{"body in drops", func(t *testing.T) config.ListedCheck {
		return given(config.ListedCheck{URL: raw(t, forever("HTTP/1.1 200 OK\r\n\r\n", ".", 20*time.Millisecond))})
	}, Fail, "timeout after 3s reading the answer", true},
	{"header in drops", func(t *testing.T) config.ListedCheck {
		return given(config.ListedCheck{URL: raw(t, forever("HTTP/1.1 200 OK\r\nX: ", ".", 20*time.Millisecond))})
	}, Fail, "timeout after 3s reading the answer", true},
	{"body of a gigabyte", func(t *testing.T) config.ListedCheck {
		return given(config.ListedCheck{URL: raw(t, forever("HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n", strings.Repeat("x", 64<<10), 0))})
	}, Fail, "answer longer than 65536 bytes", false},
	{"body without length and end", func(t *testing.T) config.ListedCheck {
		return given(config.ListedCheck{URL: raw(t, forever("HTTP/1.1 200 OK\r\n\r\n", strings.Repeat("x", 64<<10), 0))})
	}, Fail, "answer longer than 65536 bytes", false},
	{"body without end, of an error", func(t *testing.T) config.ListedCheck {
		return given(config.ListedCheck{URL: raw(t, forever("HTTP/1.1 500 No\r\n\r\n", strings.Repeat("x", 64<<10), 0))})
	}, Fail, "answer longer than 65536 bytes", false},
	{"chunk of a terabyte", func(t *testing.T) config.ListedCheck {
		return given(config.ListedCheck{URL: raw(t, forever("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffff\r\n", strings.Repeat("x", 64<<10), 0))})
	}, Fail, "answer longer than 65536 bytes", false},
	{"headers without end", func(t *testing.T) config.ListedCheck {
		return given(config.ListedCheck{URL: raw(t, forever("HTTP/1.1 200 OK\r\n", "X-Y: "+strings.Repeat("z", 1000)+"\r\n", 0))})
	}, Fail, "answer longer than 65536 bytes", false},
	{"one header without end", func(t *testing.T) config.ListedCheck {
		return given(config.ListedCheck{URL: raw(t, forever("HTTP/1.1 200 OK\r\nX-Y: ", strings.Repeat("z", 64<<10), 0))})
	}, Fail, "answer longer than 65536 bytes", false},
	{"redirect to a healthy server", func(t *testing.T) config.ListedCheck {
		return given(config.ListedCheck{URL: serve(t, status(http.StatusFound, "Location", serve(t, ok)))})
	}, Fail, "302", false},
	{"401", func(t *testing.T) config.ListedCheck {
		return given(config.ListedCheck{URL: serve(t, status(http.StatusUnauthorized))})
	}, Pass, "401", false},
	{"401 to who shows a certificate", func(t *testing.T) config.ListedCheck {
		cert, _ := issued(t, time.Now().Add(time.Hour))
		key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
		require.NoError(t, err)
		pair := filepath.Join(t.TempDir(), "client.pem")
		put(t, pair, append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]}),
			pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})...))
		return given(config.ListedCheck{URL: serve(t, status(http.StatusUnauthorized)), ClientCert: pair})
	}, Fail, "401", false},
	{"403", func(t *testing.T) config.ListedCheck {
		return given(config.ListedCheck{URL: serve(t, status(http.StatusForbidden))})
	}, Fail, "403", false},
	{"switching protocols", func(t *testing.T) config.ListedCheck {
		return given(config.ListedCheck{URL: raw(t, func(w io.Writer) { _, _ = io.WriteString(w, "HTTP/1.1 101 Switching Protocols\r\n\r\n") })})
	}, Fail, "101", false},
	{"another CA", func(t *testing.T) config.ListedCheck {
		cert, _ := issued(t, time.Now().Add(time.Hour))
		_, other := issued(t, time.Now().Add(time.Hour))
		return given(config.ListedCheck{URL: certified(t, cert), CA: other})
	}, Fail, "certificate not trusted: x509: certificate signed by unknown authority", false},
	{"another name", func(t *testing.T) config.ListedCheck {
		cert, ca := issued(t, time.Now().Add(time.Hour))
		return given(config.ListedCheck{URL: certified(t, cert), CA: ca, ServerName: "db.local"})
	}, Fail, "certificate not trusted: x509: certificate is valid for kubernetes, not db.local", false},
	{"certificate that has expired", func(t *testing.T) config.ListedCheck {
		cert, ca := issued(t, time.Now().Add(-time.Hour))
		return given(config.ListedCheck{URL: certified(t, cert), CA: ca})
	}, Fail, "certificate not trusted: it expired at ", false},
	{"certificate that is good", func(t *testing.T) config.ListedCheck {
		cert, ca := issued(t, time.Now().Add(time.Hour))
		return given(config.ListedCheck{URL: certified(t, cert), CA: ca})
	}, Pass, "200", false},
}

// Each server is asked again and again by the real loop, with its idle connection: bounded in time and memory, and nothing is left.
func TestHostileServers(t *testing.T) {
	for _, tt := range hostile {
		t.Run(tt.name, func(t *testing.T) {
			cfg := tt.give(t)
			cfg.Timeout, cfg.Interval = patience, 10*time.Millisecond
			if tt.slow {
				t.Parallel()
				cfg.Timeout = hostileTimeout
			}
			p, err := newHTTPProber(cfg)
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), cfg.Timeout)
			defer cancel()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			r := p.Probe(ctx)
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			assert.Equal(t, tt.want, r.Outcome, r.Reason)
			assert.True(t, strings.HasPrefix(r.Reason, tt.why), r.Reason)
			assert.Less(t, len(r.Reason)+len(r.Hint), 600)
			assert.Less(t, took, patience-time.Second, "nobody waits for what is over")
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20), "the server's share is in it, too")
		})
	}
}

func TestHostileServersLeaveNothingBehind(t *testing.T) {
	fds, goroutines := descriptors(t), runtime.NumGoroutine()
	t.Run("all at once", func(t *testing.T) {
		var ended []<-chan struct{}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		for _, tt := range hostile {
			cfg := tt.give(t)
			cfg.Timeout, cfg.Interval = 50*time.Millisecond, 10*time.Millisecond
			c, err := newHTTPChecker(cfg, slog.New(slog.DiscardHandler))
			require.NoError(t, err)
			done := make(chan struct{})
			ended = append(ended, done)
			go func() { defer close(done); c.Run(ctx, func(Verdict) {}) }()
		}
		for _, done := range ended {
			<-done
		}
	})
	assert.Eventually(t, func() bool { return descriptors(t) <= fds+2 && runtime.NumGoroutine() <= goroutines+2 }, 20*time.Second, 10*time.Millisecond,
		"descriptors before %d, goroutines before %d", fds, goroutines)
	t.Logf("descriptors %d, then %d; goroutines %d, then %d", fds, descriptors(t), goroutines, runtime.NumGoroutine())
}

// An hour has 12,000 probes at the default interval.
func TestTenThousandProbesKeepTheDescriptorsConstant(t *testing.T) {
	url, plain, ca := otherServer(t)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the kernel takes the connections, and nobody accepts them
	require.NoError(t, err)
	defer silent.Close()
	const unhurried = 20 * time.Second
	for _, tt := range []struct {
		name   string
		cfg    config.ListedCheck
		probes int
	}{
		{"https", given(config.ListedCheck{URL: url, CA: ca, ServerName: "example.com", Timeout: unhurried}), 500},
		{"http", given(config.ListedCheck{URL: plain, Timeout: unhurried}), 3000},
		{"refused", given(config.ListedCheck{URL: "https://" + closed.Addr().String(), Timeout: unhurried}), 6000},
		{"silent", given(config.ListedCheck{URL: "https://" + silent.Addr().String(), Timeout: time.Millisecond}), 500},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := newHTTPProber(tt.cfg)
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			wait := p.Watch(ctx, func() {})
			defer wait()
			defer cancel()
			one := func() Outcome {
				ctx, cancel := context.WithTimeout(ctx, p.timeout)
				defer cancel()
				return p.Probe(ctx).Outcome
			}
			want := one()
			fds := descriptors(t)
			for i := range tt.probes {
				if got := one(); got != want {
					require.Equal(t, want, got, "probe %d", i)
				}
				if i%100 == 0 {
					require.InDelta(t, fds, descriptors(t), 5, "after %d probes", i)
				}
			}
		})
	}
}
