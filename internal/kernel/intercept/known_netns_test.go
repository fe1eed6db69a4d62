//go:build netns

package intercept

import (
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/netnstest"
	"github.com/keepvip/keepvip/internal/kernel/link"
)

// routed has clients reach the addresses by the servers 0 and 1, each of which translates what routers send it to its own address.
func (l *lab) routed() (tables [2]*Table) {
	l.t.Helper()
	for i := range tables {
		c := three()
		c.Incoming = true
		for j := range c.Targets {
			c.Targets[j].Backends = c.Targets[j].Backends[i : i+1]
		}
		l.servers[i].In(func() {
			l.servers[i].Sysctl("net/ipv4/ip_forward", "1")
			l.servers[i].Sysctl("net/ipv6/conf/all/forwarding", "1")
			l.servers[i].IP("route add 10.1.0.100/32 via 10.1.0.9") // by the router, as no link has the address
			l.servers[i].IP("route add fd01::100/128 via fd01::9")
			var err error
			tables[i], err = Open("api", nil)
			require.NoError(l.t, err)
			require.NoError(l.t, tables[i].Apply(c))
		})
	}
	l.to(0)
	return tables
}

// to has the router send what is for the addresses to a server.
func (l *lab) to(server int) {
	l.t.Helper()
	l.host.In(func() {
		l.host.IP("route replace 10.1.0.100/32 via " + []string{"10.1.0.5", "10.1.0.6"}[server])
		l.host.IP("route replace fd01::100/128 via " + []string{"fd01::5", "fd01::6"}[server])
	})
}

// forwarded is what the kernel of a server has sent on.
func (l *lab) forwarded(server int) (n string) {
	l.servers[server].In(func() {
		for _, path := range []string{"/proc/thread-self/net/snmp", "/proc/thread-self/net/snmp6"} {
			text, err := os.ReadFile(path)
			require.NoError(l.t, err)
			var names []string
			for line := range strings.Lines(string(text)) {
				f := strings.Fields(line)
				switch {
				case f[0] == "Ip6OutForwDatagrams":
					n += " " + f[1]
				case f[0] == "Ip:" && names == nil:
					names = f
				case f[0] == "Ip:":
					for i, name := range names {
						if name == "ForwDatagrams" {
							n += f[i]
						}
					}
				}
			}
		}
	})
	return n
}

// isReset has the client say something, and wants it to learn that the connection is gone.
func (c *conn) isReset(what string) {
	c.t.Helper()
	ended := c.reads()
	_, err := c.Write([]byte("x"))
	require.NoError(c.t, err, what)
	select {
	case err := <-ended:
		assert.ErrorIs(c.t, err, unix.ECONNRESET, what)
	case <-time.After(netnstest.Patience):
		assert.Fail(c.t, "the client waits for ever", what)
	}
}

// TestConnectionThatMovesHereIsReset as soon as its client says something: a router that has lost a way sends it to another host, which does not know it.
func TestConnectionThatMovesHereIsReset(t *testing.T) {
	l := newLab(t)
	l.routed()
	for name, vip := range both {
		l.to(0)
		c, other := l.dial(l.host, vip), l.dial(l.host, vip)
		require.Equal(t, 0, c.server, name)
		l.to(1)
		c.isReset(name)
		require.NoError(t, other.SetLinger(0))
		require.NoError(t, other.Close()) // sends a reset, of a connection that this host does not know
		assert.Equal(t, 1, l.dial(l.host, vip).server, "%s: new connections are served", name)
		assert.Equal(t, "0 0", l.forwarded(1), "%s: nothing goes back to the router", name)
	}
}

// TestConnectionFromAPortThatWasKnownIsReset: of an older connection from the same port the kernel remembers what it expects next, for two minutes.
func TestConnectionFromAPortThatWasKnownIsReset(t *testing.T) {
	l := newLab(t)
	l.routed()
	from := map[string]int{"IPv4": 44444, "IPv6": 44446}
	for name, vip := range both {
		dial := func(server int) *conn {
			l.to(server)
			l.dialer.LocalAddr = &net.TCPAddr{Port: from[name]}
			defer func() { l.dialer.LocalAddr = nil }()
			c := l.dial(l.host, vip)
			require.Equal(t, server, c.server, name)
			return c
		}
		old := dial(1)
		require.NoError(t, old.CloseWrite())
		_, err := old.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF, name)
		require.NoError(t, old.Close())
		l.host.In(func() { // the client does not wait until the port is free
			_, err := link.ForgetEnded(old.LocalAddr().(*net.TCPAddr).AddrPort().Addr())
			require.NoError(t, err, name)
		})
		c := dial(0)
		l.to(1)
		c.isReset(name)
	}
}

// TestConnectionThatIsKnownGoesOn whatever comes of others, and over a change.
func TestConnectionThatIsKnownGoesOn(t *testing.T) {
	l := newLab(t)
	tables := l.routed()
	for name, vip := range both {
		l.to(1)
		stays := l.dial(l.host, vip)
		l.to(0)
		moves := l.dial(l.host, vip)
		l.to(1)
		_, err := moves.Write([]byte("x"))
		require.NoError(t, err, name)
		stays.goesOn(name)
		l.servers[1].In(func() {
			clients, err := tables[1].Clients()
			require.NoError(t, err)
			assert.Contains(t, clients, Client{At: stays.LocalAddr().(*net.TCPAddr).AddrPort(), Open: true}, name)
		})
	}
	withdrawn := three()
	withdrawn.Incoming = true
	withdrawn.Targets[0].Backends, withdrawn.Targets[1].Backends = nil, nil
	l.servers[1].In(func() {
		l.servers[1].IP("route del 10.1.0.100/32")
		l.servers[1].IP("route del fd01::100/128")
	})
	for name, vip := range both {
		c := l.dial(l.host, vip)
		require.Equal(t, 1, c.server, name)
		l.servers[1].In(func() { require.NoError(t, tables[1].Apply(withdrawn)) })
		c.goesOn(name + ": withdrawn")
		assert.Equal(t, holder, l.dial(l.host, vip).server, "%s: new ones go on by the network", name)
		l.servers[1].In(func() {
			c := three()
			c.Incoming = true
			for i := range c.Targets {
				c.Targets[i].Backends = c.Targets[i].Backends[1:2]
			}
			require.NoError(t, tables[1].Apply(c))
		})
	}
}

// TestClientsAreToldWhetherTheirConnectionsAreOpen, also those of programs of this host.
func TestClientsAreToldWhetherTheirConnectionsAreOpen(t *testing.T) {
	l := newLab(t)
	tables := l.routed()
	l.to(1)
	for name, vip := range both {
		for from, space := range map[string]*netnstest.Space{"a client": l.host, "this host": l.servers[1]} {
			c := l.dial(space, vip)
			require.Equal(t, 1, c.server, name)
			at := c.LocalAddr().(*net.TCPAddr).AddrPort()
			listed := func(open bool) (yes bool) {
				l.servers[1].In(func() {
					clients, err := tables[1].Clients()
					require.NoError(t, err)
					yes = slices.Contains(clients, Client{At: at, Open: open})
				})
				return yes
			}
			assert.True(t, listed(true), "%s: %s", name, from)
			require.NoError(t, c.CloseWrite())
			_, err := c.Read(make([]byte, 1))
			require.ErrorIs(t, err, io.EOF)
			l.host.Eventually(func() bool { return listed(false) }, name+": "+from)
		}
	}
}
