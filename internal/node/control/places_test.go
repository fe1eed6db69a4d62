package control

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/base/places"
)

func TestPlacesAreTakenFromWhoHasTheMost(t *testing.T) {
	p := newBounded(4, &bounded{})
	closed := map[string]bool{}
	admit := func(name string) *placedConn {
		owner, _, _ := strings.Cut(name, "-")
		return p.admit(&placedConn{of: p, Conn: named{name: name, closed: closed}, owner: owner}, time.Now())
	}
	admit("kubelet-1")
	var of []*placedConn
	for _, name := range []string{"a-1", "a-2", "a-3", "a-4"} {
		of = append(of, admit(name))
	}
	assert.Equal(t, map[string]bool{"a-1": true}, closed)
	last := admit("kubelet-2")
	require.NotNil(t, last)
	assert.Equal(t, map[string]bool{"a-1": true, "a-2": true}, closed)
	for _, c := range of {
		c.setBusy(true)
	}
	last.setBusy(true)
	require.NotNil(t, admit("b-1"))
	assert.True(t, closed["kubelet-1"], "who works is left alone")
	require.NotNil(t, admit("c-1"))
	require.NoError(t, last.Close())
	require.NoError(t, last.Close())
	assert.Equal(t, 3, p.inside.Count().Taken)
	assert.NotNil(t, admit("kubelet-3"))
	assert.Equal(t, uint64(4), p.inside.Count().Lost)
}

// named is a connection that tells when it is closed.
type named struct {
	net.Conn
	name   string
	closed map[string]bool
}

func (c named) Close() error { c.closed[c.name] = true; return nil }

func TestPlacesGiveEachOwnerABudget(t *testing.T) {
	p := newBounded(10_000, &bounded{budget: 3})
	now := time.Now()
	admitted := func(owner string, n int, at time.Time) (got int) {
		for range n {
			if p.admit(&placedConn{of: p, Conn: named{closed: map[string]bool{}}, owner: owner}, at) != nil {
				got++
			}
		}
		return got
	}
	assert.Equal(t, 3, admitted("a", 100, now))
	assert.Equal(t, 3, admitted("b", 100, now))
	assert.Zero(t, admitted("", 100, now), "gone")
	assert.Equal(t, 3, admitted("a", 100, now.Add(time.Second)))
	for i := range 5000 {
		admitted(fmt.Sprint(i), 1, now.Add(time.Second))
	}
	assert.LessOrEqual(t, len(p.spent), maxOwners+1)
	assert.Empty(t, p.spentOut)
}

// endless is a listener that always has another connection.
type endless struct {
	net.Listener
	seen int
}

func (e *endless) Accept() (net.Conn, error) {
	e.seen++
	return named{closed: map[string]bool{}}, nil
}

// However fast they come, and whether they are taken or refused.
func TestPlacesTakeAFewConnectionsInATurn(t *testing.T) {
	for name, budget := range map[string]int{"taken": 0, "refused": 50} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				l := &endless{}
				p := newBounded(64, &bounded{
					Listener: l, turns: places.Turns{Of: 8}, budget: budget, owner: func(net.Conn) string { return "user 1000" },
				})
				began := time.Now()
				for range 96 {
					_, err := p.Accept()
					require.NoError(t, err)
				}
				assert.Equal(t, time.Duration(l.seen/8)*time.Millisecond, time.Since(began))
				assert.GreaterOrEqual(t, l.seen, 96)
			})
		})
	}
}

// failing is a listener that cannot accept so many times, each for another reason; nil: this time it can.
type failing struct {
	net.Listener
	errs []error
}

func (f *failing) Accept() (net.Conn, error) {
	if len(f.errs) == 0 {
		return f.Listener.Accept()
	}
	err := f.errs[0]
	f.errs = f.errs[1:]
	if err == nil {
		return f.Listener.Accept()
	}
	return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", err)}
}

// What the kernel says once for want of memory, or by a rule, must not end a listener for good.
func TestListenerAnswersAfterItCouldNotAccept(t *testing.T) {
	s, err := OpenStatus(socketPath(t), func() any { return http.StatusOK })
	require.NoError(t, err)
	s.all.Listener = &failing{s.all.Listener, []error{unix.ENOMEM, unix.ENOBUFS, unix.EPERM, unix.EMFILE, unix.EMFILE, unix.EMFILE, unix.ECONNABORTED}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	var status int
	require.NoError(t, NewClient(s.path).Status(t.Context(), &status))
	assert.Equal(t, http.StatusOK, status)
	cancel()
	assert.NoError(t, <-ended)
}

// What lasts is told to the server, which tells its door: that says so, and opens the listener again.
func TestListenerThatNeverAcceptsEnds(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := &failing{nil, slices.Repeat([]error{unix.EPERM}, mostFailures+1)}
		began := time.Now()
		_, err := newBounded(1, &bounded{Listener: l}).Accept()
		assert.ErrorIs(t, err, unix.EPERM)
		assert.Equal(t, (mostFailures-1)*acceptPause, time.Since(began))
	})
}

// A connection that gets no place shows that the socket accepts. A listener that fails now and then beside a flood goes
// on.
func TestListenerThatRefusesInBetweenGoesOn(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		fails := slices.Repeat([]error{unix.EPERM}, mostFailures-1)
		refused := 0
		p := newBounded(1, &bounded{
			Listener: &failing{&endless{}, slices.Concat(fails, []error{nil}, fails)}, turns: places.Turns{Of: 8},
			owner:  func(net.Conn) string { return "user 1000" },
			refuse: func(net.Conn) bool { refused++; return refused == 1 },
		})
		_, err := p.Accept()
		assert.NoError(t, err)
		assert.Equal(t, 2, refused)
	})
}

func TestMetricsAreMadeOnceInAWhile(t *testing.T) {
	var made atomic.Int32
	l, err := Listen("127.0.0.1:0", Probes{
		Live: func() error { return nil }, Ready: func() error { return nil },
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			assert.Empty(t, r.Header)
			w.Header().Set("Content-Type", "text/plain; version=0.0.4")
			_, _ = fmt.Fprintln(w, "made", made.Add(1))
		}),
	})
	require.NoError(t, err)
	defer listening(t, l)()
	for range 10 {
		got := ask(t, l, "/metrics")
		assert.Regexp(t, `^200 made \d+\n$`, got)
	}
	assert.LessOrEqual(t, made.Load(), int32(5))
}

func listening(t *testing.T, l *Listener) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Serve(ctx) }()
	return func() {
		cancel()
		require.NoError(t, <-ended)
	}
}

// Idle connections of one user, slow ones, and more than there are places for keep nobody else out.
func TestProbesAreAnsweredWhileAnotherUserHoldsAllPlaces(t *testing.T) {
	l, err := Listen("127.0.0.1:0", Probes{
		Live: func() error { return nil }, Ready: func() error { return nil }, Metrics: http.NotFoundHandler(),
		Owner: func(from, _ netip.AddrPort) (string, error) { return "user at " + from.Addr().String(), nil },
	})
	require.NoError(t, err)
	defer listening(t, l)()
	for i := range 3 * probePlaces {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i%4))}}
		c, err := d.Dial("tcp", l.lns[0].Addr().String())
		require.NoError(t, err)
		defer c.Close()
		if i%2 == 0 {
			_, _ = io.WriteString(c, "GET /metrics HTTP/1.1\r\nHost:")
		}
	}
	for range 10 {
		assert.Equal(t, "200 ok\n", ask(t, l, "/livez"))
	}
	p := l.lns[0].(*bounded)
	p.mu.Lock()
	defer p.mu.Unlock()
	assert.LessOrEqual(t, p.inside.Count().Taken, probePlaces)
}

func TestControlSocketAnswersBesideIdleConnections(t *testing.T) {
	path := socketPath(t)
	b := backend()
	release, entered := make(chan struct{}), make(chan struct{})
	b.Reload = func(context.Context) (any, error) { close(entered); <-release; return "done", nil }
	stop := serveAt(t, path, b)
	defer stop()
	c := NewClient(path)
	var done string
	reloaded := make(chan error, 1)
	go func() { reloaded <- c.Reload(t.Context(), &done) }()
	select {
	case <-entered:
	case err := <-reloaded:
		t.Log("not root:", err)
		reloaded <- nil
		done = "done"
	}
	for range 3 * controlPlaces {
		idle, err := net.Dial("unix", path)
		require.NoError(t, err)
		defer idle.Close()
	}
	for range 10 {
		require.NoError(t, c.Status(t.Context(), nil))
	}
	close(release)
	require.NoError(t, <-reloaded)
	assert.Equal(t, "done", done, "what is being carried out keeps its place")
}
