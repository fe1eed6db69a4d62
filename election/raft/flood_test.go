package raft

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
)

// port is a listener in memory: whoever calls it says from which address.
type port struct {
	calls  chan net.Conn
	closed chan struct{}
}

func (p *port) Accept() (net.Conn, error) {
	select {
	case c := <-p.calls:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *port) Close() error {
	close(p.closed)
	return nil
}

func (p *port) Addr() net.Addr { return &net.TCPAddr{} }

// remote is the server's end of a call.
type remote struct {
	net.Conn
	from netip.Addr
}

func (r remote) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(r.from, 50000))
}

// from opens a connection of that address.
func (p *port) from(t *testing.T, a string) net.Conn {
	here, there := net.Pipe()
	p.calls <- remote{there, netip.MustParseAddr(a)}
	t.Cleanup(func() { _ = here.Close() })
	return here
}

// listenInMemory is a listener in memory that echoes to members, of which two addresses are known.
func listenInMemory(t *testing.T) (*port, *refusals) {
	t.Helper()
	p := &port{calls: make(chan net.Conn), closed: make(chan struct{})}
	refused := &refusals{counts: map[string]int{}}
	known := func(a netip.Addr) bool { return a == addr(0) || a == addr(1) }
	l := newListener(p, identity(t, 1), known, refused.add, map[string]func(net.Conn){
		protocolMember: func(c net.Conn) {
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		},
	})
	go l.serve()
	t.Cleanup(func() { assert.NoError(t, l.close()) })
	return p, refused
}

// admitted makes a member's handshake from an address, and has a byte echoed within the limit. The connection stays open.
func (p *port) admitted(t *testing.T, a string, limit time.Duration) error {
	c := p.from(t, a)
	conn := tls.Client(c, identity(t, 1).client(protocolMember))
	if err := conn.SetDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte("x")); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, make([]byte, 1))
	return err
}

// A caller without a key has as many addresses as it likes, and calls all the time: members are let in as without it.
func TestListenerAdmitsMembersDuringFlood(t *testing.T) {
	for _, addresses := range []int{1, 4, 250} {
		t.Run(fmt.Sprint(addresses), func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				p, refused := listenInMemory(t)
				for range 20 {
					for i := range 200 {
						p.from(t, fmt.Sprintf("10.77.1.%d", 1+i%addresses))
					}
					synctest.Wait()
					for i := range 2 {
						require.NoError(t, p.admitted(t, addr(i).String(), 100*time.Millisecond), "member %d", i)
					}
					time.Sleep(time.Second)
				}
				assert.Positive(t, refused.of(rejectCrowd))
			})
		})
	}
}

// A flood does not keep the process from its other work.
func TestListenerRefusesInTurns(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		p, _ := listenInMemory(t)
		began := time.Now()
		for range 10*callersInTurn + 1 {
			p.from(t, "10.77.1.1")
		}
		assert.Equal(t, 10*time.Millisecond, time.Since(began))
	})
}

// What else runs on a member's machine has its address, and no key.
func TestListenerAdmitsMemberBesideSilentCallersOfItsAddress(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		p, refused := listenInMemory(t)
		for range 100 {
			for range maxFromMember + 3 {
				p.from(t, addr(0).String())
			}
			require.NoError(t, p.admitted(t, addr(0).String(), 100*time.Millisecond))
		}
		assert.Positive(t, refused.of(rejectCrowd))
	})
}

// A member that crashes and comes back leaves connections that nobody ends; the newest count.
func TestListenerKeepsTheNewestConnectionsOfMember(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		p, _ := listenInMemory(t)
		for range 4 * maxOpen {
			require.NoError(t, p.admitted(t, addr(0).String(), 100*time.Millisecond))
		}
		assert.NoError(t, p.admitted(t, addr(1).String(), 100*time.Millisecond))
	})
}

// Who has the key, but is no member yet, gets in, too: in a bounded number of connections, which take nothing from members.
func TestListenerAdmitsHoldersOfTheKey(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		p, refused := listenInMemory(t)
		for i := range maxOpen {
			require.NoError(t, p.admitted(t, fmt.Sprintf("10.77.1.%d", i), 100*time.Millisecond))
			time.Sleep(unknownTime)
		}
		require.Error(t, p.admitted(t, "10.77.2.1", 100*time.Millisecond))
		assert.Equal(t, 1, refused.of(rejectCrowd))
		assert.NoError(t, p.admitted(t, addr(0).String(), 100*time.Millisecond))
	})
}

func TestUnknownCallersTakePlaces(t *testing.T) {
	now := time.Unix(0, 0)
	v4 := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}) }
	v6 := func(i int) netip.Addr { return netip.MustParseAddr(fmt.Sprintf("fd00:0:0:1::%x", i)) }
	for _, c := range []struct {
		name  string
		from  func(i int) netip.Addr
		calls int
		want  int
	}{
		{"one address", func(int) netip.Addr { return v4(1) }, 100, maxFromUnknown},
		{"many addresses", v4, 100, maxUnknown},
		{"many addresses of one IPv6 link", v6, 100, maxFromUnknown},
		{"no address", func(int) netip.Addr { return netip.Addr{} }, 100, maxFromUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s unknownCallers
			for second := range 3 {
				taken := 0
				for i := range c.calls {
					if s.take(now.Add(time.Duration(second)*unknownTime), c.from(i)) {
						taken++
					}
				}
				assert.Equal(t, c.want, taken)
			}
		})
	}
}

func TestNodeKnowsItsMembers(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		l.settle()
		n := l.hosts[addr(0)].node
		assert.True(t, n.isMember(addr(1)), "on the list")
		assert.False(t, n.isMember(addr(3)), "not a member")
		require.NoError(t, n.Change(t.Context(), OpAdd, addr(3)))
		time.Sleep(3 * time.Second) // a member hears late what is decided
		assert.True(t, l.hosts[addr(2)].node.isMember(addr(3)), "invited")
		n.gossip.hear(message{From: addr(4)}, false)
		assert.True(t, n.isMember(addr(4)), "heard")
	})
}
