//go:build netns

package lifeline

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/netnstest"
)

// pair are two members on one cable, each with its lines, and a host of which nothing is heard.
type pair struct {
	t      *testing.T
	spaces [2]*netnstest.Space
	own    [2]netip.Addr
	lines  [2]*Lines
	events [2]chan Event
	armed  atomic.Bool
}

const port = 9646

func newPair(t *testing.T, own [2]netip.Addr, secrets [2]byte) *pair {
	t.Helper()
	p := &pair{t: t, own: own}
	p.armed.Store(true)
	p.spaces[1] = netnstest.New(t)
	p.spaces[0] = netnstest.New(t)
	p.spaces[0].Pair("eth0", p.spaces[1], "eth0")
	p.spaces[0].Has("eth0", "10.77.0.11/24", "10.77.0.19/24", "fe80::11/64")
	p.spaces[1].Has("eth0", "10.77.0.12/24", "fe80::12/64")
	for i, s := range p.spaces {
		s.Enter()
		p.events[i] = make(chan Event, 8)
		p.lines[i] = New(Config{
			Interface: net.Interface{Index: s.Index("eth0"), Name: "eth0"}, Source: own[i], Port: port, Mark: 0x3001,
			Armed: p.armed.Load, Keys: keys(secrets[i]), Log: slog.New(slog.DiscardHandler),
			within: func(do func()) { in(s, do) },
		})
		p.lines[i].Open()
		p.lines[i].Speak(uint64(70 + i))
		p.lines[i].Follow(func(e Event) { p.events[i] <- e })
		t.Cleanup(func() { _ = p.lines[i].Close() })
	}
	return p
}

// in makes what do opens belong to a namespace, from any goroutine. The thread goes with the goroutine where it cannot go back.
func in(s *netnstest.Space, do func()) {
	runtime.LockOSThread()
	back, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		err = unix.Setns(s.FD, unix.CLONE_NEWNET)
	}
	if err != nil {
		panic(err)
	}
	do()
	if unix.Setns(back, unix.CLONE_NEWNET) == nil {
		runtime.UnlockOSThread()
	}
	_ = unix.Close(back)
}

// meet lets both hear each other.
func (p *pair) meet() {
	p.lines[0].Heard(p.own[1], 71, false)
	p.lines[1].Heard(p.own[0], 70, false)
}

// joined waits until both ends have both lines.
func (p *pair) joined() {
	p.t.Helper()
	for i := range p.lines {
		other := []netip.Addr{p.own[1-i]}
		p.spaces[0].Eventually(func() bool {
			return assert.ObjectsAreEqual(other, p.lines[i].Held()) && assert.ObjectsAreEqual(other, p.lines[i].Reached())
		}, "both lines")
	}
}

func (p *pair) quiet(what string) {
	p.t.Helper()
	for i := range p.events {
		select {
		case e := <-p.events[i]:
			assert.Fail(p.t, what, "%v heard %+v", p.own[i], e)
		default:
		}
	}
}

func addrs(a, b string) [2]netip.Addr {
	return [2]netip.Addr{netip.MustParseAddr(a), netip.MustParseAddr(b)}
}

func TestLinesEndInOrderWithoutAWord(t *testing.T) {
	for name, own := range map[string][2]netip.Addr{"IPv4": addrs("10.77.0.11", "10.77.0.12"), "IPv6": addrs("fe80::11", "fe80::12")} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, own, [2]byte{1, 1})
			p.meet()
			p.joined()
			require.NoError(t, p.lines[0].Close())
			p.spaces[1].Eventually(func() bool { return len(p.lines[1].Held()) == 0 && len(p.lines[1].Reached()) == 0 }, "the end of both lines")
			p.quiet("an orderly end is no death")
		})
	}
}

// TestMemberThatClosesWithoutAWordHasDied: that is how a kernel ends the line of a process that is gone.
func TestMemberThatClosesWithoutAWordHasDied(t *testing.T) {
	p := newPair(t, addrs("10.77.0.11", "10.77.0.12"), [2]byte{})
	p.lines[1].Heard(p.own[0], 70, false)
	p.spaces[0].Enter()
	c := p.call("10.77.0.11")
	require.NoError(t, greet(c, ends{p.own[0], p.own[1]}, []uint64{70}, keys(0)))
	p.spaces[1].Eventually(func() bool { return len(p.lines[1].Held()) == 1 }, "the line")
	require.NoError(t, c.Close())
	select {
	case e := <-p.events[1]:
		assert.Equal(t, Ended, e.Kind)
		assert.Equal(t, p.own[0], e.Member)
	case <-time.After(10 * time.Second):
		require.Fail(t, "the end is not heard")
	}
}

// TestNewLineOfAMemberReplacesTheOld: the old one had ended, and nobody had heard of it.
func TestNewLineOfAMemberReplacesTheOld(t *testing.T) {
	p := newPair(t, addrs("10.77.0.11", "10.77.0.12"), [2]byte{})
	p.lines[1].Heard(p.own[0], 70, false)
	p.spaces[0].Enter()
	for range 3 {
		c := p.call("10.77.0.11")
		require.NoError(t, greet(c, ends{p.own[0], p.own[1]}, []uint64{70}, keys(0)))
		t.Cleanup(func() { _ = c.Close() })
	}
	p.spaces[1].Eventually(func() bool { return len(p.lines[1].Held()) == 1 }, "the line")
	p.quiet("none of them has died")
}

// call connects to the second member, and looks what it says first.
func (p *pair) call(from string) net.Conn {
	p.t.Helper()
	d := net.Dialer{Timeout: 5 * time.Second, LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Control: p.lines[0].cfg.control(nil)}
	var c net.Conn
	p.spaces[0].Eventually(func() (ok bool) {
		var err error
		c, err = d.Dial("tcp4", netip.AddrPortFrom(p.own[1], port).String())
		return err == nil
	}, "a connection")
	require.NoError(p.t, c.SetDeadline(time.Now().Add(10*time.Second)))
	return c
}

// TestStrangersGetNothing: not an octet, whatever they say.
func TestStrangersGetNothing(t *testing.T) {
	p := newPair(t, addrs("10.77.0.11", "10.77.0.12"), [2]byte{1, 1})
	p.lines[1].Heard(p.own[0], 70, false)
	p.spaces[0].Enter()
	for range 40 {
		c := p.call("10.77.0.19") // of which no message was believed
		n, err := c.Read(make([]byte, 64))
		assert.Zero(t, n)
		assert.True(t, errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF), "%v", err)
		_ = c.Close()
	}
	c := p.call("10.77.0.11") // the address of a member, without its key
	require.Error(t, greet(c, ends{p.own[0], p.own[1]}, []uint64{70}, keys(2)))
	_ = c.Close()
	assert.Empty(t, p.lines[1].Held())
	began := time.Now()
	var silent []net.Conn
	for range 3 { // of those that say nothing, few may wait
		c := p.call("10.77.0.11")
		defer c.Close() // which makes room for one that is not accepted yet
		silent = append(silent, c)
	}
	refused := 0
	for _, c := range silent {
		if _, err := readChallenge(c); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			refused++
		}
	}
	assert.True(t, refused > 0 || time.Since(began) >= greetTime, "no caller was refused, though the first ones still had time")
	p.quiet("a stranger's end is nobody's")
}

// TestNoLineBeyondTheLink: a packet that a router has passed on is dropped by the kernel.
func TestNoLineBeyondTheLink(t *testing.T) {
	p := newPair(t, addrs("10.77.0.11", "10.77.0.12"), [2]byte{})
	p.lines[1].Heard(p.own[0], 70, false)
	p.spaces[0].Enter()
	_ = p.call("10.77.0.11").Close()                                                                         // it listens
	d := net.Dialer{Timeout: 500 * time.Millisecond, LocalAddr: &net.TCPAddr{IP: net.ParseIP("10.77.0.11")}} // TTL 64
	_, err := d.Dial("tcp4", netip.AddrPortFrom(p.own[1], port).String())
	assert.True(t, os.IsTimeout(err), "%v", err)
}

// TestNoLineBeforeTheFenceEndsWithIt: its end would be heard while the address goes on.
func TestNoLineBeforeTheFenceEndsWithIt(t *testing.T) {
	p := newPair(t, addrs("10.77.0.11", "10.77.0.12"), [2]byte{})
	p.armed.Store(false)
	p.meet()
	time.Sleep(2 * unarmedPause)
	assert.Empty(t, p.lines[0].Held())
	p.armed.Store(true)
	p.joined()
}

// TestMemberThatBeginsAnewHearsOfEndsSoon: how long it was gone says nothing about when it answers. At first it refuses the line, as it has not heard of
// the other yet.
func TestMemberThatBeginsAnewHearsOfEndsSoon(t *testing.T) {
	p := newPair(t, addrs("10.77.0.11", "10.77.0.12"), [2]byte{})
	p.meet()
	p.joined()
	require.NoError(t, p.lines[1].Close())
	time.Sleep(4 * time.Second) // dialled in vain meanwhile
	p.spaces[1].Enter()
	p.lines[1] = New(p.lines[1].cfg)
	p.lines[1].Open()
	p.lines[1].Speak(72)
	p.spaces[0].Enter()
	_ = p.call("10.77.0.11").Close() // it listens
	p.lines[0].Heard(p.own[1], 72, false)
	time.Sleep(200 * time.Millisecond)
	began := time.Now()
	p.lines[1].Heard(p.own[0], 70, false)
	p.spaces[1].Eventually(func() bool { return len(p.lines[1].Held()) == 1 }, "the line of the one that has stayed")
	assert.Less(t, time.Since(began), 3*time.Second)
}

// TestLineIsAboveEverythingElse: the kernel closes the files of a process that has ended from the highest number down, and the line is not to wait
// for the others.
func TestLineIsAboveEverythingElse(t *testing.T) {
	p := newPair(t, addrs("10.77.0.11", "10.77.0.12"), [2]byte{})
	p.meet()
	p.joined()
	marked := 0
	for fd := range 2 * firstLine {
		if mark, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK); err == nil && mark == 0x3001 {
			assert.GreaterOrEqual(t, fd, firstLine)
			marked++
		}
	}
	assert.Equal(t, 2, marked, "the lines of both")
}

// TestLineWhereThereAreFewDescriptors has any number that is free.
func TestLineWhereThereAreFewDescriptors(t *testing.T) {
	var before unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
	t.Cleanup(func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &before)) })
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: firstLine / 2, Max: before.Max}))
	p := newPair(t, addrs("10.77.0.11", "10.77.0.12"), [2]byte{})
	p.meet()
	p.joined()
	require.NoError(t, p.lines[0].Close())
	p.spaces[1].Eventually(func() bool { return len(p.lines[1].Held()) == 0 && len(p.lines[1].Reached()) == 0 }, "the end of both lines")
	p.quiet("an orderly end is no death")
}
