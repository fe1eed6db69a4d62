package localproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/kernel/intercept"
)

const patience = 20 * time.Second

// server says its number to each that connects, and then what it hears. At the end of that it ends.
func server(t *testing.T, number int) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				_, _ = fmt.Fprintf(c, "%d\n", number)
				_, _ = io.Copy(c, c)
				_, _ = fmt.Fprint(c, "end")
			}()
		}
	}()
	return l.Addr().(*net.TCPAddr).AddrPort()
}

// nobody is where nothing listens, and nothing else will.
func nobody(t *testing.T) netip.AddrPort {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Close(fd) })
	loopback := netip.MustParseAddr("127.0.0.1")
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: loopback.As4()}))
	at, err := syscall.Getsockname(fd)
	require.NoError(t, err)
	return netip.AddrPortFrom(loopback, uint16(at.(*syscall.SockaddrInet4).Port))
}

func open(t *testing.T, p *Proxy, servers ...netip.AddrPort) *Proxy {
	t.Helper()
	require.NoError(t, p.Open("127.0.0.1:0"))
	t.Cleanup(func() {
		over, cancel := context.WithCancel(context.Background())
		cancel()
		require.NoError(t, p.Close(over))
	})
	var backends []intercept.Backend
	for _, s := range servers {
		backends = append(backends, intercept.Backend{At: s, Weight: 1})
	}
	p.SetBackends(backends)
	return p
}

// dial returns the number of the server, too; -1 if there is none, which a client may learn before it knows that it is connected.
func dial(t *testing.T, p *Proxy) (*net.TCPConn, int) {
	t.Helper()
	c, err := net.Dial("tcp", p.addresses()[0].String())
	if errors.Is(err, syscall.ECONNRESET) {
		return nil, -1
	}
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
	number := -1
	if _, err := fmt.Fscanf(c, "%d\n", &number); err != nil {
		number = -1
	}
	return c.(*net.TCPConn), number
}

func eventually(t *testing.T, ok func() bool, what string) {
	t.Helper()
	for began := time.Now(); !ok(); runtime.Gosched() {
		require.Less(t, time.Since(began), patience, what)
	}
}

// addresses are those on which it listens.
func (p *Proxy) addresses() (out []netip.AddrPort) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.listeners {
		out = append(out, addressOf(l))
	}
	return out
}

func TestConnectionsAreEven(t *testing.T) {
	p := open(t, &Proxy{}, server(t, 0), server(t, 1), server(t, 2))
	served := make([]int, 3)
	for range 90 {
		c, number := dial(t, p)
		served[number]++
		_ = c.Close()
	}
	assert.Equal(t, []int{30, 30, 30}, served)
	assert.Equal(t, uint64(90), p.Stats().Total)
}

// A client that connects without end takes no more than a part of a processor.
func TestCallersComeInTurns(t *testing.T) {
	p := open(t, &Proxy{}, server(t, 0))
	began := time.Now()
	for range 10*callersInTurn + 1 {
		c, _ := dial(t, p)
		_ = c.Close()
	}
	assert.GreaterOrEqual(t, time.Since(began), 9*turn)
}

func TestConnectionsByWeight(t *testing.T) {
	p := open(t, &Proxy{})
	p.SetBackends([]intercept.Backend{{At: server(t, 0), Weight: 2}, {At: server(t, 1), Weight: 0}, {At: server(t, 2), Weight: 1}})
	served := make([]int, 3)
	for range 30 {
		_, number := dial(t, p)
		served[number]++
	}
	assert.Equal(t, []int{20, 0, 10}, served)
}

// TestServerThatRefuses is passed over at once, and so is one that is listed no more.
func TestServerThatRefuses(t *testing.T) {
	good := server(t, 7)
	p := open(t, &Proxy{}, nobody(t), good, nobody(t))
	for range 6 {
		_, number := dial(t, p)
		assert.Equal(t, 7, number)
	}
	assert.Equal(t, map[netip.AddrPort]int{good: 6}, p.Stats().ByBackend)
	assert.Zero(t, p.Stats().Failed)
}

func TestNoServer(t *testing.T) {
	vip := server(t, 9)
	p := open(t, &Proxy{Fallback: []netip.AddrPort{vip}})
	_, number := dial(t, p)
	assert.Equal(t, 9, number, "none is healthy")
	p.SetBackends([]intercept.Backend{{At: nobody(t), Weight: 1}})
	_, number = dial(t, p)
	assert.Equal(t, 9, number, "none answers")

	p = open(t, &Proxy{})
	_, number = dial(t, p)
	assert.Equal(t, -1, number)
	assert.Equal(t, uint64(1), p.Stats().Failed)
}

func TestConnectsFromTheAddressThatIsAsked(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	at := l.Addr().(*net.TCPAddr).AddrPort()
	own := netip.MustParseAddr("127.0.0.7")
	for _, from := range []netip.Addr{own, {}} {
		p := open(t, &Proxy{From: func(server netip.Addr) netip.Addr {
			assert.Equal(t, at.Addr(), server)
			return from
		}}, at)
		c, err := net.Dial("tcp", p.addresses()[0].String())
		require.NoError(t, err)
		s, err := l.Accept()
		require.NoError(t, err)
		assert.Equal(t, from == own, s.RemoteAddr().(*net.TCPAddr).AddrPort().Addr() == own)
		_, _ = c.Close(), s.Close()
	}
}

// TestEndOfOneDirection is passed on, while the other goes on.
func TestEndOfOneDirection(t *testing.T) {
	p := open(t, &Proxy{}, server(t, 0))
	c, _ := dial(t, p)
	_, err := c.Write([]byte("last words, "))
	require.NoError(t, err)
	require.NoError(t, c.CloseWrite())
	got, err := io.ReadAll(c)
	require.NoError(t, err)
	assert.Equal(t, "last words, end", string(got))
	eventually(t, func() bool { return p.Stats().Open == 0 }, "it is over")
}

func TestMuchGoesThrough(t *testing.T) {
	p := open(t, &Proxy{}, server(t, 0))
	c, _ := dial(t, p)
	const size = 8 << 20
	go func() {
		_, _ = io.CopyN(c, zeros{}, size)
		_ = c.CloseWrite()
	}()
	n, err := io.Copy(io.Discard, c)
	require.NoError(t, err)
	assert.Equal(t, int64(size+len("end")), n)
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

func TestResetOfAServer(t *testing.T) {
	p := open(t, &Proxy{}, server(t, 0))
	doomed, _ := dial(t, p)
	p.SetBackends(nil)
	_, err := doomed.Write([]byte("x"))
	require.NoError(t, err)
	_, err = io.ReadFull(doomed, make([]byte, 1))
	require.NoError(t, err, "what one has goes on when it is unhealthy")
	assert.Zero(t, p.Reset(netip.MustParseAddr("127.0.0.2")))
	assert.Equal(t, 1, p.Reset(netip.MustParseAddr("127.0.0.1")))
	_, err = doomed.Read(make([]byte, 1))
	assert.ErrorIs(t, err, syscall.ECONNRESET)
	eventually(t, func() bool { return p.Stats().Open == 0 }, "it is over")
}

// TestResetByTheServer arrives at the client as one.
func TestResetByTheServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	p := open(t, &Proxy{}, l.Addr().(*net.TCPAddr).AddrPort())
	c, err := net.Dial("tcp", p.addresses()[0].String())
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	s, err := l.Accept()
	require.NoError(t, err)
	abort(s.(*net.TCPConn))
	require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
	_, err = c.Read(make([]byte, 1))
	assert.ErrorIs(t, err, syscall.ECONNRESET)
}

func TestConnectionsAreBounded(t *testing.T) {
	p := open(t, &Proxy{Connections: 2}, server(t, 0))
	first, _ := dial(t, p)
	dial(t, p)
	_, number := dial(t, p)
	assert.Equal(t, 0, number, "the newest has a place")
	_, err := io.ReadAll(first)
	assert.ErrorIs(t, err, syscall.ECONNRESET, "which the oldest has lost")
	eventually(t, func() bool { return p.Stats().Open == 2 }, "no more than there are places")
	assert.Equal(t, uint64(1), p.Stats().Lost)
	p.SetConnections(1)
	eventually(t, func() bool { return p.Stats().Open == 1 }, "after a reload")
	assert.Equal(t, 1, p.Stats().Places)
}

// One user who has all places, and goes on connecting, keeps nobody else out, and nobody's connections from going on.
func TestOneUserLeavesTheOthersTheirPlaces(t *testing.T) {
	const most = 20
	owner := func(from, _ netip.AddrPort) (string, error) { return from.Addr().String(), nil }
	p := open(t, &Proxy{Connections: most, Owner: owner}, server(t, 0))
	at := p.addresses()[0].String()
	from := func(user byte) net.Conn {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, user)}}
		c, err := d.Dial("tcp", at)
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	served := func(c net.Conn) {
		require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
		_, err := io.ReadFull(c, make([]byte, 2))
		require.NoError(t, err)
	}
	var honest []net.Conn
	for range 5 {
		c := from(2)
		served(c)
		honest = append(honest, c)
	}
	for range 5 * most {
		from(3)
	}
	for range 5 {
		c := from(4)
		served(c)
		honest = append(honest, c)
	}
	for _, c := range honest {
		_, err := c.Write([]byte("x"))
		require.NoError(t, err)
		_, err = io.ReadFull(c, make([]byte, 1))
		require.NoError(t, err)
	}
}

func TestRoom(t *testing.T) {
	const gib = 1 << 30
	for _, tt := range []struct {
		name                string
		memory, descriptors uint64
		want                int
	}{
		{"a small pod", gib / 8, 1 << 20, leastRoom},
		{"4 GiB", 4 * gib, 1 << 20, 4096},
		{"much of everything", 256 * gib, 1 << 20, mostRoom},
		{"few descriptors", 256 * gib, 1024, 256},
		{"some more", 256 * gib, 16384, 6144},
		{"hardly any", gib, 3, 1},
	} {
		assert.Equal(t, tt.want, room(tt.memory, tt.descriptors), tt.name)
	}
	assert.Positive(t, roomHere())
}

// TestClose waits for what is open, refuses what is new, and leaves no goroutine.
func TestClose(t *testing.T) {
	s := server(t, 0)
	before := runtime.NumGoroutine()
	p := &Proxy{}
	require.NoError(t, p.Open("127.0.0.1:0"))
	p.SetBackends([]intercept.Backend{{At: s, Weight: 1}})
	ends, _ := dial(t, p)
	stays, _ := dial(t, p)
	ctx, cancel := context.WithCancel(context.Background())
	closed := make(chan error)
	go func() { closed <- p.Close(ctx) }()
	eventually(t, func() bool {
		c, err := net.Dial("tcp", p.addresses()[0].String())
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	}, "it listens no more")
	_ = ends.Close()
	eventually(t, func() bool { return p.Stats().Open == 1 }, "one has ended")
	_, err := stays.Write([]byte("x"))
	require.NoError(t, err)
	_, err = io.ReadFull(stays, make([]byte, 1))
	require.NoError(t, err, "the other has time")
	cancel()
	require.NoError(t, <-closed)
	_, err = stays.Read(make([]byte, 1))
	assert.ErrorIs(t, err, syscall.ECONNRESET)
	require.NoError(t, p.Close(ctx), "again")
	eventually(t, func() bool { return runtime.NumGoroutine() <= before }, "goroutines end")
}

func TestListenRefuses(t *testing.T) {
	assert.Error(t, (&Proxy{}).Open(""))
	assert.Error(t, (&Proxy{}).begin(nil))
	assert.EqualError(t, (&Proxy{}).Open("0.0.0.0:0"), "localproxy: listen on 0.0.0.0:0: want an address of loopback")
	taken := server(t, 0)
	assert.ErrorIs(t, (&Proxy{}).begin([]netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:0"), taken}), syscall.EADDRINUSE)
}

// TestIdleConnectionIsSmall: the process has two file descriptors and no buffer for it.
func TestIdleConnectionIsSmall(t *testing.T) {
	p := open(t, &Proxy{}, server(t, 0))
	const n = 100
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range n {
		dial(t, p)
	}
	eventually(t, func() bool { return p.Stats().Open == n }, "all are there")
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	used := int64(after.HeapInuse+after.StackInuse) - int64(before.HeapInuse+before.StackInuse)
	t.Logf("%d bytes for each, with its client and server", used/n)
	assert.Less(t, used/n, int64(80<<10))
}

// TestMove leaves the connections, and also a listener that was there before.
func TestMove(t *testing.T) {
	p := open(t, &Proxy{}, server(t, 0))
	first := p.addresses()[0]
	other := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.2"), first.Port())
	stays, _ := dial(t, p)
	listens := func(at netip.AddrPort) bool {
		c, err := net.Dial("tcp", at.String())
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}
	require.NoError(t, p.move([]netip.AddrPort{first, other}))
	assert.Equal(t, []netip.AddrPort{first, other}, p.addresses())
	assert.True(t, listens(first) && listens(other))

	taken := server(t, 0)
	require.ErrorIs(t, p.move([]netip.AddrPort{other, taken}), syscall.EADDRINUSE)
	require.Error(t, p.move(nil))
	require.Error(t, p.move([]netip.AddrPort{netip.MustParseAddrPort("0.0.0.0:0")}))
	assert.Equal(t, []netip.AddrPort{first, other}, p.addresses(), "nothing has changed")
	assert.True(t, listens(first) && listens(other))

	require.NoError(t, p.move([]netip.AddrPort{other}))
	assert.False(t, listens(first))
	assert.True(t, listens(other))
	_, err := stays.Write([]byte("x"))
	require.NoError(t, err)
	_, err = io.ReadFull(stays, make([]byte, 1))
	require.NoError(t, err, "it goes on")

	over, cancel := context.WithCancel(context.Background())
	cancel()
	require.NoError(t, p.Close(over))
	require.ErrorIs(t, p.move([]netip.AddrPort{first}), net.ErrClosed)
	assert.False(t, listens(first) || listens(other))
}

func TestAddressesOfAnOption(t *testing.T) {
	for at, want := range map[string]string{
		"127.0.0.1:9443":          "[127.0.0.1:9443]",
		"localhost:9443":          "[127.0.0.1:9443 [::1]:9443]",
		"[::1]:9443":              "[[::1]:9443]",
		"[::ffff:127.0.0.1]:9443": "[127.0.0.1:9443]",
		"9443":                    "[]", "127.0.0.1:x": "[]", "name:9443": "[]",
	} {
		got, err := addresses(at)
		assert.Equal(t, want, fmt.Sprint(got), at)
		assert.Equal(t, want == "[]", err != nil, at)
	}
}
