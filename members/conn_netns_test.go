//go:build netns

package members

import (
	"errors"
	"net"
	"net/netip"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/netnstest"
	"github.com/keepvip/keepvip/members/envelope"
)

// space is one end of a veth pair, in a network namespace of its own.
type space struct {
	*netnstest.Space

	ifi net.Interface
}

// newSpaces makes two namespaces, joined.
func newSpaces(t *testing.T) (a, b *space) {
	t.Helper()
	a, b = &space{Space: netnstest.New(t)}, &space{Space: netnstest.New(t)}
	b.Pair("eth0", a.Space, "eth0")
	a.Has("eth0", "10.9.0.11/24", "fd09::11/64")
	b.Has("eth0", "10.9.0.12/24", "fd09::12/64")
	for _, s := range []*space{a, b} {
		eth0 := s.Link("eth0").Attrs()
		s.ifi = net.Interface{Index: eth0.Index, Name: "eth0", HardwareAddr: eth0.HardwareAddr}
	}
	return a, b
}

func (s *space) open(t *testing.T, source string, unicast bool) *Conn {
	t.Helper()
	s.Enter()
	c, err := Open(ConnConfig{Interface: s.ifi, Source: netip.MustParseAddr(source), Unicast: unicast})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

type received struct {
	text   string
	source netip.Addr
	err    error
}

// receive hands on what comes in.
func receive(c *Conn) <-chan received {
	out := make(chan received, 100)
	go func() {
		defer close(out)
		for {
			b := make([]byte, maxMessage)
			a, err := c.Receive(b)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			out <- received{string(b[:a.Length]), a.Source, err}
		}
	}()
	return out
}

func expect(t *testing.T, in <-chan received) received {
	t.Helper()
	select {
	case r := <-in:
		return r
	case <-time.After(netnstest.Patience):
		require.Fail(t, "nothing received")
	}
	return received{}
}

func silence(t *testing.T, in <-chan received) {
	t.Helper()
	select {
	case r := <-in:
		assert.Fail(t, "unexpected", "%+v", r)
	case <-time.After(50 * time.Millisecond):
	}
}

func TestConnMulticast(t *testing.T) {
	for _, tt := range []struct{ a, b string }{{"10.9.0.11", "10.9.0.12"}, {"fd09::11", "fd09::12"}} {
		a, b := newSpaces(t)
		one, two := a.open(t, tt.a, false), b.open(t, tt.b, false)
		first, second := receive(one), receive(two)
		require.NoError(t, one.Send([]byte("hello")))
		assert.Equal(t, received{"hello", netip.MustParseAddr(tt.a), nil}, expect(t, second))
		silence(t, first)
		require.NoError(t, two.Close())
		_, open := <-second
		assert.False(t, open, "Close ends Receive")
	}
}

func TestConnUnicast(t *testing.T) {
	a, b := newSpaces(t)
	peers := []netip.Addr{netip.MustParseAddr("10.9.0.11"), netip.MustParseAddr("10.9.0.12")}
	one, two := a.open(t, "10.9.0.11", true), b.open(t, "10.9.0.12", true)
	second := receive(two)
	require.NoError(t, one.Send([]byte("hello"), peers[1]))
	assert.Equal(t, received{"hello", peers[0], nil}, expect(t, second))

	a.Enter()
	distant, err := net.Dial("udp", "10.9.0.12:9646")
	require.NoError(t, err)
	defer distant.Close()
	_, err = distant.Write([]byte("of another program"))
	require.NoError(t, err)
	assert.Equal(t, envelope.RejectPort, reasonOf(t, expect(t, second).err), "a group judges the TTL of what comes from the members' port")
}

// A reader that stands still finds messages as old as they are, the first as well as those behind it.
func TestConnDatesWhatHasWaited(t *testing.T) {
	for _, tt := range []struct {
		a, b    string
		unicast bool
	}{{"10.9.0.11", "10.9.0.12", false}, {"fd09::11", "fd09::12", false}, {"10.9.0.11", "10.9.0.12", true}} {
		a, b := newSpaces(t)
		one, two := a.open(t, tt.a, tt.unicast), b.open(t, tt.b, tt.unicast)
		var to []netip.Addr
		if tt.unicast {
			to = []netip.Addr{netip.MustParseAddr(tt.b)}
		}
		queue := func() (sent, queued time.Time) {
			before := two.waiting(t)
			sent = time.Now()
			require.NoError(t, one.Send([]byte("hello"), to...))
			require.Eventually(t, func() bool { return two.waiting(t) > before }, netnstest.Patience, time.Millisecond)
			queued = time.Now()
			<-time.After(100 * time.Millisecond)
			return sent, queued
		}
		receive := func() Arrival {
			got, err := two.Receive(make([]byte, maxMessage))
			require.NoError(t, err)
			return got
		}
		// The age is a difference of the wall clock, which may be slewed.
		const slewed = 10 * time.Millisecond
		// The first socket of a host that wants to know when a message has come has the kernel note it from soon on (net_enable_timestamp).
		for began := time.Now(); ; {
			_, queued := queue()
			if !receive().At.After(queued.Add(slewed)) {
				break
			}
			require.Less(t, time.Since(began), netnstest.Patience, "the kernel notes no times")
		}
		sent, queued := make([]time.Time, 2), make([]time.Time, 2)
		for i := range sent {
			sent[i], queued[i] = queue()
		}
		for i := range sent {
			got := receive()
			assert.False(t, got.At.Before(sent[i].Add(-slewed)), "%s, message %d: %v before it was sent", tt.b, i, sent[i].Sub(got.At))
			assert.False(t, got.At.After(queued[i].Add(slewed)), "%s, message %d: %v after it was seen to wait", tt.b, i, got.At.Sub(queued[i]))
		}
	}
}

// waiting is how much memory the messages take that nobody has read yet, in octets.
func (c *Conn) waiting(t *testing.T) uint32 {
	t.Helper()
	var info [unix.SK_MEMINFO_DROPS + 1]uint32
	size := uint32(unsafe.Sizeof(info))
	var errno unix.Errno
	require.NoError(t, c.recv.raw.Control(func(fd uintptr) {
		_, _, errno = unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_MEMINFO, uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	}))
	require.Zero(t, errno)
	return info[unix.SK_MEMINFO_RMEM_ALLOC]
}

// Whoever does not reach the group cannot reach a Conn at all.
func TestConnHearsOnlyTheGroup(t *testing.T) {
	a, b := newSpaces(t)
	heard := receive(b.open(t, "10.9.0.12", false))
	a.Enter()
	c, err := net.ListenPacket("udp4", "10.9.0.11:0")
	require.NoError(t, err)
	defer c.Close()
	p := ipv4.NewPacketConn(c)
	require.NoError(t, p.SetTTL(255))
	_, err = p.WriteTo([]byte("unicast"), nil, &net.UDPAddr{IP: net.IPv4(10, 9, 0, 12), Port: defaultPort})
	require.NoError(t, err)
	silence(t, heard)
	require.NoError(t, p.SetMulticastTTL(254))
	require.NoError(t, p.SetMulticastInterface(&a.ifi))
	_, err = p.WriteTo([]byte("group"), nil, &net.UDPAddr{IP: net.IPv4(224, 0, 0, 18), Port: defaultPort})
	require.NoError(t, err)
	assert.Equal(t, RejectTTL, reasonOf(t, expect(t, heard).err))
}

func TestOpenRefuses(t *testing.T) {
	a, _ := newSpaces(t)
	a.Enter()
	_, err := Open(ConnConfig{Interface: a.ifi, Source: netip.MustParseAddr("10.9.0.99")})
	assert.ErrorContains(t, err, "send from 10.9.0.99 (is it on eth0, and usable?)")
	_, err = Open(ConnConfig{Interface: a.ifi})
	assert.ErrorContains(t, err, "want an IPv4 or IPv6 address")
}

// asStranger runs f in the namespace as a user without any privilege, on a thread that is thrown away.
func (s *space) asStranger(t *testing.T, f func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := unix.Setns(s.FD, unix.CLONE_NEWNET)
		// Package syscall would change the user of all threads.
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, 65534, 65534, 65534); err == nil && errno != 0 {
			err = errno
		}
		if err == nil {
			f()
		}
		done <- err
	}()
	require.NoError(t, <-done)
}

// bindUDP makes a socket that shares its port with whoever is willing.
func bindUDP(a netip.Addr, port uint16) (int, error) {
	domain, to := unix.AF_INET, unix.Sockaddr(&unix.SockaddrInet4{Port: int(port)})
	if a.Is6() {
		domain, to = unix.AF_INET6, &unix.SockaddrInet6{Addr: a.As16(), Port: int(port), ZoneId: 2}
	} else {
		to.(*unix.SockaddrInet4).Addr = a.As4()
	}
	fd, err := unix.Socket(domain, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	for _, opt := range []int{unix.SO_REUSEADDR, unix.SO_REUSEPORT} {
		err = errors.Join(err, unix.SetsockoptInt(fd, unix.SOL_SOCKET, opt, 1))
	}
	if err = errors.Join(err, unix.Bind(fd, to)); err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

// Another user's process must have no part in the port: of datagrams for one host it would take all.
func TestConnSharesItsPortWithNobody(t *testing.T) {
	for _, tt := range []struct {
		name, source string
		unicast      bool
		binds        []string
	}{
		{"unicast", "10.9.0.12", true, []string{"10.9.0.12", "0.0.0.0", "::"}},
		{"unicast, IPv6", "fd09::12", true, []string{"fd09::12", "::"}},
		{"multicast", "10.9.0.12", false, []string{"224.0.0.18", "0.0.0.0", "::"}},
		{"multicast, IPv6", "fd09::12", false, []string{"ff02::12", "::"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, b := newSpaces(t)
			b.open(t, tt.source, tt.unicast)
			b.asStranger(t, func() {
				for _, to := range tt.binds {
					fd, err := bindUDP(netip.MustParseAddr(to), defaultPort)
					if assert.ErrorIs(t, err, unix.EADDRINUSE, to) {
						continue
					}
					_ = unix.Close(fd)
				}
			})
		})
	}
}

// Groups on two addresses of one interface have a Conn each.
func TestConnsOfOneInterfaceHearTheSameGroup(t *testing.T) {
	a, b := newSpaces(t)
	b.Has("eth0", "10.9.1.12/24")
	one := a.open(t, "10.9.0.11", false)
	first, second := receive(b.open(t, "10.9.0.12", false)), receive(b.open(t, "10.9.1.12", false))
	require.NoError(t, one.Send([]byte("hello")))
	assert.Equal(t, "hello", expect(t, first).text)
	assert.Equal(t, "hello", expect(t, second).text)
}

// A user without privilege can say nothing, neither on a host of its own nor on a member's.
func TestConnRefusesWhatTheUnprivilegedSay(t *testing.T) {
	for _, tt := range []struct {
		name, source, to string
		unicast          bool
	}{
		{"unicast", "10.9.0.12", "10.9.0.12", true},
		{"unicast, IPv6", "fd09::12", "fd09::12", true},
		{"multicast", "10.9.0.12", "224.0.0.18", false},
		{"multicast, IPv6", "fd09::12", "ff02::12", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b := newSpaces(t)
			heard := receive(b.open(t, tt.source, tt.unicast))
			member := netip.MustParseAddr("10.9.0.11")
			if netip.MustParseAddr(tt.source).Is6() {
				member = netip.MustParseAddr("fd09::11")
			}
			a.asStranger(t, func() { assert.NoError(t, sayUDP(member, netip.MustParseAddr(tt.to))) })
			got := expect(t, heard)
			assert.Equal(t, member, got.source)
			assert.Equal(t, envelope.RejectPort, reasonOf(t, got.err))
		})
	}
}

// sayUDP sends what a member could have sent, but for what it takes a privilege to set.
func sayUDP(from, to netip.Addr) error {
	fd, err := bindUDP(from, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if to.Is4() {
		for _, opt := range []int{unix.IP_TTL, unix.IP_MULTICAST_TTL} {
			err = errors.Join(err, unix.SetsockoptInt(fd, unix.IPPROTO_IP, opt, 255))
		}
		return errors.Join(err, unix.Sendto(fd, []byte("HELLO"), 0, &unix.SockaddrInet4{Addr: to.As4(), Port: defaultPort}))
	}
	for _, opt := range []int{unix.IPV6_UNICAST_HOPS, unix.IPV6_MULTICAST_HOPS} {
		err = errors.Join(err, unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, opt, 255))
	}
	return errors.Join(err, unix.Sendto(fd, []byte("HELLO"), 0, &unix.SockaddrInet6{Addr: to.As16(), Port: defaultPort, ZoneId: 2}))
}
