package lab

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// loopback is a node, and a client, that are this machine itself.
func loopback(t *testing.T) *Node {
	t.Helper()
	space := &Namespace{Name: "test-c1", jobs: make(chan func())}
	go func() {
		for job := range space.jobs {
			job()
		}
	}()
	l := &Lab{epoch: time.Now()}
	t.Cleanup(func() {
		for _, end := range l.ends() {
			end()
		}
		close(space.jobs)
	})
	return &Node{Namespace: space, ID: 2, Label: "n2", Address: netip.MustParseAddr("127.0.0.1"), Addr6: netip.IPv6Loopback(), lab: l}
}

const loopbackPort = 17443

func TestWatches(t *testing.T) {
	n := loopback(t)
	server := must(n.StartWatchServer(loopbackPort))(t)
	target := netip.AddrPortFrom(n.Address, loopbackPort)
	w := must(n.lab.Watch(n.Namespace, WatchesConfig{Target: target, Clients: 2, Each: 3, Path: "/watch"}))(t)
	w.Await(5, 10*time.Second)
	assert.Equal(t, 2, w.Connections())
	assert.ElementsMatch(t, w.Stop().Own, unique(server.Audit()))
	r := w.Stop()
	assert.Equal(t, map[string]int{"n2": 6}, r.ByNode)
	assert.GreaterOrEqual(t, r.Events, 6*6)
	assert.Zero(t, r.Missed)
	assert.Empty(t, r.Restarts)

	w = must(n.lab.Watch(n.Namespace, WatchesConfig{Target: target, Clients: 1, Each: 2, Path: "/watch"}))(t)
	server.Close()
	require.Eventually(t, func() bool { w.mu.Lock(); defer w.mu.Unlock(); return len(w.report.Restarts) > 1 }, 10*time.Second, 10*time.Millisecond)
	assert.NotEmpty(t, w.Stop().Restarts, "watches that end are told of")
}

func unique(list []netip.AddrPort) (out []netip.AddrPort) {
	seen := map[netip.AddrPort]bool{}
	for _, a := range list {
		if !seen[a] {
			out = append(out, a)
		}
		seen[a] = true
	}
	return out
}

func TestTransfers(t *testing.T) {
	n := loopback(t)
	server := must(n.StartTransfers(GreeterConfig{Port: loopbackPort}))(t)
	c := must(n.lab.OpenTransfer(n.Namespace, netip.AddrPortFrom(n.Address, loopbackPort)))(t)
	defer c.Close()
	assert.Equal(t, "n2", c.Node)
	took := must(c.RoundTrips(100))(t)
	assert.Len(t, took, 100)
	assert.NotContains(t, took, time.Duration(0))
	for _, transfer := range []func(int) (time.Duration, error){c.Down, c.Up, c.Down} {
		used := must(transfer(10_000_000))(t)
		assert.Positive(t, used)
	}
	server.Close()
	_, err := c.Down(1)
	assert.Error(t, err)
}

func TestEventNumber(t *testing.T) {
	for line, want := range map[string]int{
		`{"object":{"data":{"n":"17"}}}`: 17, `{"object":{"data":{}}}`: -1, `{"n":"x"}`: -1, `{"n":"1`: -1, "": -1,
	} {
		assert.Equal(t, want, eventNumber([]byte(line)), line)
	}
}

func TestLeasesAreUpdatedByTheirNewestVersionAlone(t *testing.T) {
	s := &leases{objects: map[string]kept{}}
	const all, one = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/lock"
	lease := func(version, holder string) string {
		meta := field(field(nil, 1, []byte("lock")), 6, []byte(version))
		object := field(field(nil, 1, meta), 2, field(nil, 1, []byte(holder)))
		return string(field(field([]byte(magic), 1, nil), 2, object))
	}
	// What the answer says of the version and the holder.
	said := func(body string) (version, holder string) {
		raw, _ := strings.CutPrefix(body, magic)
		object := fields([]byte(raw))[2]
		return string(fields(fields(object)[1])[6]), string(fields(fields(object)[2])[1])
	}
	for _, step := range []struct {
		method, path, body string
		code               int
		version, holder    string
	}{
		{http.MethodGet, one, "", http.StatusNotFound, "", ""},
		{http.MethodPut, one, lease("", "n1"), http.StatusNotFound, "", ""},
		{http.MethodPost, all, lease("", "n1"), http.StatusCreated, "1", "n1"},
		{http.MethodPost, all, lease("", "n2"), http.StatusConflict, "", ""},
		{http.MethodPut, one, lease("1", "n1"), http.StatusOK, "2", "n1"},
		{http.MethodPut, one, lease("1", "n2"), http.StatusConflict, "", ""},
		{http.MethodGet, one, "", http.StatusOK, "2", "n1"},
		{http.MethodPost, all, "junk", http.StatusUnsupportedMediaType, "", ""},
		{http.MethodPost, all, magic + "\x0a\xff", http.StatusBadRequest, "", ""},
		{http.MethodGet, "/api/v1/nodes", "", http.StatusNotFound, "", ""},
	} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(step.method, step.path, strings.NewReader(step.body)))
		assert.Equal(t, step.code, w.Code, "%s %q", step.method, step.body)
		if step.version != "" {
			version, holder := said(w.Body.String())
			assert.Equal(t, step.version, version)
			assert.Equal(t, step.holder, holder)
		}
	}
}

func TestPollerForgetsASocketThatAProgramBeingStartedStillHas(t *testing.T) {
	p := must(newPoller())(t)
	defer p.close()
	pair := must(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))(t)
	require.NoError(t, p.watch(pair[0], false))
	started, err := unix.Dup(pair[0]) // as the child has it between fork and exec
	require.NoError(t, err)
	defer unix.Close(started)
	p.shut(pair[0])
	must(unix.Write(pair[1], []byte("x")))(t)
	defer unix.Close(pair[1])
	assert.Empty(t, p.wait(20*time.Millisecond))
}

// A signal removes the labs while episodes go on.
func TestRemovedNamespaceRefusesWork(t *testing.T) {
	n := &Namespace{Name: "n1", jobs: make(chan func()), done: make(chan struct{})}
	close(n.done)
	assert.ErrorContains(t, n.Do(func() error { return nil }), "n1 is removed")
}
