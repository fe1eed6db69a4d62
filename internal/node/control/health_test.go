package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHealthSaysWhetherANodeShouldGetConnections(t *testing.T) {
	bad := map[string]error{"b": errors.New("drained by an operator")}
	h := Health{Names: func() []string { return []string{"a", "b"} }, Fit: func(name string) error { return bad[name] }}.handler()
	for _, tt := range []struct {
		method, path string
		want         int
		body         string
	}{
		{"GET", "/healthz/a", 200, "ok\n"},
		{"HEAD", "/healthz/a", 200, ""},
		{"GET", "/healthz/b", 503, "drained by an operator\n"},
		{"GET", "/healthz", 503, "b: drained by an operator\n"},
		{"GET", "/healthz/none", 404, "no virtual address has this name\n"},
		{"GET", "/healthz/a/b", 404, "404 page not found\n"},
		{"GET", "/metrics", 404, "404 page not found\n"},
		{"POST", "/healthz/a", 405, "Method Not Allowed\n"},
	} {
		t.Run(tt.method+" "+tt.path, func(t *testing.T) {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, nil))
			assert.Equal(t, tt.want, w.Code)
			if tt.method != "HEAD" {
				assert.Equal(t, tt.body, w.Body.String())
			}
		})
	}
}

func TestHealthListenerAnswersBesideOneWhoHoldsItsPlaces(t *testing.T) {
	l, err := ListenHealth("127.0.0.1:0", Health{Names: func() []string { return []string{"a"} }, Fit: func(string) error { return nil }})
	require.NoError(t, err)
	stop := listening(t, l)
	defer stop()
	at := l.lns[0].Addr().String()
	for range probePlaces + 8 { // of one who says nothing
		c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).Dial("tcp", at)
		require.NoError(t, err)
		defer c.Close()
	}
	c, err := net.Dial("tcp", at)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	// What a body would be is not waited for.
	_, err = io.WriteString(c, "GET /healthz/a HTTP/1.1\r\nHost: n1\r\nContent-Length: 1000000\r\n\r\n")
	require.NoError(t, err)
	answer, err := io.ReadAll(c)
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(answer), "HTTP/1.1 200 OK\r\n"), string(answer))
	assert.True(t, strings.HasSuffix(string(answer), "ok\n"), string(answer))
}

func TestHealthIsNotToldAtAVirtualAddress(t *testing.T) {
	l, err := ListenHealth("0.0.0.0:0", Health{
		Names: func() []string { return nil }, Fit: func(string) error { return nil },
		Refuse: func(a netip.Addr) bool { return a == netip.MustParseAddr("127.0.0.3") },
	})
	require.NoError(t, err)
	stop := listening(t, l)
	defer stop()
	_, port, err := net.SplitHostPort(l.lns[0].Addr().String())
	require.NoError(t, err)
	ask := func(host string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s:%s/healthz", host, port), nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(r)
		if err == nil {
			require.NoError(t, answer.Body.Close())
		}
		return err
	}
	require.NoError(t, ask("127.0.0.1"))
	require.Error(t, ask("127.0.0.3"))
}

func TestListenHealthNamesTheOption(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	_, err = ListenHealth(ln.Addr().String(), Health{})
	require.ErrorContains(t, err, "address already in use; choose another --health, or \"off\"")
}

func TestHealthListenerSharesItsPortWithNobody(t *testing.T) {
	l, err := ListenHealth("0.0.0.0:0", Health{})
	require.NoError(t, err)
	defer l.Close()
	_, err = ListenHealth(l.lns[0].Addr().String(), Health{})
	require.ErrorContains(t, err, "address already in use", "probes would be divided among the two")
}

// Who says 0.0.0.0 has a firewall for IPv4 in mind.
func TestListenerOfAllIPv4AddressesIsNotReachedByIPv6(t *testing.T) {
	health, err := ListenHealth("0.0.0.0:0", Health{})
	require.NoError(t, err)
	defer health.Close()
	metrics := listenAtAFreePort(t, "0.0.0.0")
	defer metrics.Close()
	for _, l := range []*Listener{health, metrics} {
		for _, ln := range l.lns {
			at := ln.Addr().(*net.TCPAddr)
			assert.NotNil(t, at.IP.To4(), "%s", at)
		}
	}
}
