package control

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
)

// at answers a request that has arrived at an address of this host.
func at(h http.Handler, address, path, authorization string) (int, string) {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address)))))
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestOtherHostsAreToldTheMetricsAlone(t *testing.T) {
	fine := func() error { return nil }
	told := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "keepvip_state 1\n") })
	var log strings.Builder
	token, broken := "correct horse battery staple", error(nil)
	h := Probes{Live: fine, Ready: fine, Metrics: told, Outside: Outside{
		Token: func() (string, error) { return token, broken }, Log: slog.New(slog.NewTextHandler(&log, nil)),
	}}.handler()
	open := Probes{Live: fine, Ready: fine, Metrics: told}.handler()
	const good = "Bearer correct horse battery staple"
	for _, tt := range []struct {
		name                         string
		h                            http.Handler
		address, path, authorization string
		want                         int
	}{
		{"loopback needs no token", h, "127.0.0.1:9645", "/metrics", "", 200},
		{"and has the probes", h, "[::1]:9645", "/readyz", "", 200},
		{"with the token", h, "10.77.0.11:9645", "/metrics", good, 200},
		{"without", h, "10.77.0.11:9645", "/metrics", "", 401},
		{"the beginning of it", h, "10.77.0.11:9645", "/metrics", good[:len(good)-1], 401},
		{"more than it", h, "10.77.0.11:9645", "/metrics", good + "x", 401},
		{"another scheme", h, "10.77.0.11:9645", "/metrics", "Basic " + good[7:], 401},
		{"without a scheme", h, "10.77.0.11:9645", "/metrics", good[7:], 401},
		{"no probes outside", h, "10.77.0.11:9645", "/readyz", good, 404},
		{"nor for IPv6", h, "[fd77::11]:9645", "/livez", good, 404},
		{"no token is configured", open, "10.77.0.11:9645", "/metrics", "", 200},
		{"nor are the probes told then", open, "10.77.0.11:9645", "/livez", "", 404},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, body := at(tt.h, tt.address, tt.path, tt.authorization)
			assert.Equal(t, tt.want, code)
			assert.Equal(t, code == 200, strings.Contains(body, "keepvip_state") || body == "ok\n", body)
		})
	}

	broken = assert.AnError
	for range 3 {
		code, body := at(h, "10.77.0.11:9645", "/metrics", good)
		assert.Equal(t, 503, code)
		assert.NotContains(t, body, "keepvip_state")
	}
	assert.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
	broken, token = nil, "another one that is long enough"
	code, _ := at(h, "10.77.0.11:9645", "/metrics", good)
	assert.Equal(t, 401, code, "the former one")
	code, _ = at(h, "10.77.0.11:9645", "/metrics", "Bearer "+token)
	assert.Equal(t, 200, code)
}

// To answer this host from a queue of its own needs another socket: the one of all addresses is as full as strangers make it.
func TestLoopbackHasAQueueOfItsOwn(t *testing.T) {
	hosts := map[string][]string{"0.0.0.0": {"", "127.0.0.2", "127.0.0.1"}}
	if six, err := net.Listen("tcp", "[::1]:0"); err == nil { // not every host has IPv6
		require.NoError(t, six.Close())
		hosts["[::]"] = []string{"", "127.0.0.2", "127.0.0.1", "::1"}
	}
	for host, want := range hosts {
		l := listenAtAFreePort(t, host)
		defer l.Close()
		require.Len(t, l.lns, len(want), host)
		_, port, err := net.SplitHostPort(l.lns[0].Addr().String())
		require.NoError(t, err)
		for i, to := range want {
			if to == "" { // of other hosts
				continue
			}
			c, err := net.Dial("tcp", net.JoinHostPort(to, port))
			require.NoError(t, err)
			got, err := l.lns[i].(*bounded).Listener.Accept() // it would wait for ever at another one
			require.NoError(t, err, "%s, %s", host, to)
			require.NoError(t, errors.Join(c.Close(), got.Close()))
		}
		_, err = Listen(host+":"+port, Probes{Metrics: http.NotFoundHandler()})
		require.ErrorContains(t, err, "address already in use", "another process")
		closeAll(l.lns)
	}
}

// listenAtAFreePort listens at a port that nobody else takes first, at any address.
func listenAtAFreePort(t *testing.T, host string) *Listener {
	t.Helper()
	var failed error
	for range 10 {
		free, err := net.Listen("tcp", "0.0.0.0:0")
		require.NoError(t, err)
		_, port, err := net.SplitHostPort(free.Addr().String())
		require.NoError(t, errors.Join(err, free.Close()))
		l, err := Listen(host+":"+port, Probes{Metrics: http.NotFoundHandler()})
		if err == nil {
			return l
		}
		failed = err
	}
	require.NoError(t, failed)
	return nil
}

func TestListenerListensOnLoopbackInAnyCase(t *testing.T) {
	for give, want := range map[string][]string{
		"127.0.0.1:9645":  {"127.0.0.1:9645"},
		"localhost:9645":  {"localhost:9645"},
		"0.0.0.0:9645":    {"0.0.0.0:9645", "127.0.0.1:9645"},
		"[::]:9645":       {"[::]:9645", "127.0.0.1:9645", "[::1]:9645"},
		"10.77.0.11:9645": {"10.77.0.11:9645", "127.0.0.1:9645"},
		"[fd77::11]:9645": {"[fd77::11]:9645", "127.0.0.1:9645"},
	} {
		got, err := placesOf(give)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

// Others cannot take the places and the budget of this host, nor one of them those of the others.
func TestPlacesOfOtherHostsAreTheirOwn(t *testing.T) {
	p := newBounded(3, &bounded{budget: 2})
	now := time.Now()
	admitted := func(owner string, n int, out bool) (got int) {
		for range n {
			if p.admit(&placedConn{of: p, Conn: named{closed: map[string]bool{}}, owner: owner, out: out}, now) != nil {
				got++
			}
		}
		return got
	}
	assert.Equal(t, outsideBudget, admitted("10.77.0.12", 100, true))
	assert.Equal(t, outsideBudget, admitted("10.77.0.13", 100, true))
	assert.Equal(t, outsidePlaces, p.outer.Count().Taken)
	assert.Equal(t, 2, admitted("user 0", 100, false))
	assert.Equal(t, outsidePlaces, p.outer.Count().Taken)
	assert.Equal(t, 2, p.inside.Count().Taken)
	assert.Equal(t, allOutsideBudget-2*outsideBudget, admitted("10.77.0.14", 100, true))
	assert.Zero(t, admitted("10.77.0.15", 100, true))
	assert.Equal(t, 2, admitted("user 1", 100, false))
}

// Whoever has a whole IPv6 network, and asks from another address each time, spends nothing of what the kubelet has.
func TestBudgetOfThisHostOutlastsThousandsOfOtherHosts(t *testing.T) {
	p := newBounded(probePlaces, &bounded{budget: probeBudget})
	now := time.Now()
	from := func(owner string, out bool) bool {
		return p.admit(&placedConn{of: p, Conn: named{closed: map[string]bool{}}, owner: owner, out: out}, now) != nil
	}
	for i := range 3 * maxOwners {
		from(fmt.Sprintf("fd77::%x", i), true)
	}
	assert.LessOrEqual(t, len(p.spentOut), maxOwners+1)
	for i := range probeBudget {
		assert.True(t, from("user 0", false), "probe %d", i)
	}
	assert.False(t, from("user 0", false))
}

// pairAt writes a new certificate with its key, in one file, and returns its serial number.
func pairAt(t *testing.T, path string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "n1"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
	require.NoError(t, os.WriteFile(path+".new", text, 0o600))
	require.NoError(t, os.Rename(path+".new", path))
}

func TestCertificateIsReadAgainWhenItChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pair.pem")
	var log strings.Builder
	c := newCertificate(path, path, slog.New(slog.NewTextHandler(&log, nil)))
	serial := func() int64 {
		pair, err := c.get(&tls.ClientHelloInfo{})
		require.NoError(t, err)
		leaf, err := x509.ParseCertificate(pair.Certificate[0])
		require.NoError(t, err)
		return leaf.SerialNumber.Int64()
	}
	_, err := c.get(&tls.ClientHelloInfo{})
	require.ErrorContains(t, err, "no such file")
	pairAt(t, path, 1)
	assert.Equal(t, int64(1), serial())
	pairAt(t, path, 2)
	assert.Equal(t, int64(2), serial())
	require.NoError(t, os.WriteFile(path, []byte("half a certificate"), 0o600))
	assert.Equal(t, int64(2), serial())
	assert.Equal(t, int64(2), serial())
	assert.Equal(t, 1, strings.Count(log.String(), "\n"), "one line for each change")
	require.NoError(t, os.Remove(path))
	assert.Equal(t, int64(2), serial())
	pairAt(t, path, 3)
	assert.Equal(t, int64(3), serial())
}

// slowKey takes a second for a signature, and notes how many it makes at a time.
type slowKey struct {
	crypto.Signer
	now, most *atomic.Int32
}

func (k slowKey) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	if n := k.now.Add(1); n > k.most.Load() {
		k.most.Store(n)
	}
	time.Sleep(time.Second)
	k.now.Add(-1)
	return nil, nil
}

// Handshakes that come together do not take all processors together.
func TestHandshakesSignOneAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pair.pem")
	pairAt(t, path, 1)
	bubble.Test(t, func(t *testing.T) {
		c := newCertificate(path, path, slog.New(slog.DiscardHandler))
		pair, err := c.get(&tls.ClientHelloInfo{})
		require.NoError(t, err)
		key, ok := pair.PrivateKey.(oneAtATime)
		require.True(t, ok)
		slow := slowKey{Signer: key.Signer, now: new(atomic.Int32), most: new(atomic.Int32)}
		key.Signer = slow
		var all sync.WaitGroup
		for range outsidePlaces {
			all.Go(func() {
				_, err := key.Sign(nil, nil, nil)
				assert.NoError(t, err)
			})
		}
		all.Wait()
		assert.Equal(t, int32(1), slow.most.Load())
	})
}

// pipes is a listener of connections that the test makes.
type pipes struct {
	net.Listener
	next chan net.Conn
}

func (p pipes) Accept() (net.Conn, error) { return <-p.next, nil }

// placedAt is a connection that ends at an address of this host.
type placedAt struct {
	net.Conn
	at net.Addr
}

func (c placedAt) LocalAddr() net.Addr { return c.at }

func TestOtherHostsAreShownACertificate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pair.pem")
	pairAt(t, path, 7)
	ln := pipes{next: make(chan net.Conn, 1)}
	guarded := Outside{Certificate: path, Log: slog.New(slog.DiscardHandler)}.guard(ln)
	accept := func(address string) (net.Conn, net.Conn) {
		here, there := net.Pipe()
		ln.next <- placedAt{here, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address))}
		c, err := guarded.Accept()
		require.NoError(t, err)
		return c, there
	}
	plain, _ := accept("127.0.0.1:9645")
	assert.IsType(t, placedAt{}, plain)
	c, there := accept("10.77.0.11:9645")
	secure, ok := c.(*tls.Conn)
	require.True(t, ok)
	client := tls.Client(there, &tls.Config{InsecureSkipVerify: true})
	ended := make(chan error, 1)
	go func() { ended <- secure.HandshakeContext(t.Context()) }()
	require.NoError(t, client.HandshakeContext(t.Context()))
	require.NoError(t, <-ended)
	assert.Equal(t, int64(7), client.ConnectionState().PeerCertificates[0].SerialNumber.Int64())
	assert.Empty(t, client.ConnectionState().NegotiatedProtocol)
}
