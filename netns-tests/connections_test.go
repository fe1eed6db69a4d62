//go:build netns

package netnstests

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// A client uses the port of a connection again as soon as the connection has ended, if the server closed it. The server's kernel remembers
// it for a minute (TIME_WAIT, RFC 9293 section 3.6.1). A node that takes the address meanwhile must not take the new connection, which
// another node drains, for the old one.
func TestDrainKeepsAConnectionFromAPortThatTheNextNodeRemembers(t *testing.T) {
	eachFamily(t, func(t *testing.T, vip netip.Addr) {
		g := open(t, trial.Config{Addresses: []netip.Addr{vip}, Lab: lab.Config{Nodes: 2}})
		for _, n := range g.Lab.Nodes {
			echoes(t, n)
		}
		first := settled(t, g)
		old := dialFrom(t, g.Lab.Client.Namespace, netip.AddrPortFrom(vip, echoPort))
		says(t, old, "bye") // the server closes it
		must(io.ReadAll(old))(t)
		require.NoError(t, old.Close())

		require.Zero(t, command(t, first, "handover"))
		second := settled(t, g)
		require.NotEqual(t, first.Label, second.Label)
		c := dialFrom(t, g.Lab.Client.Namespace, netip.AddrPortFrom(vip, echoPort))
		says(t, c, "one")
		done := drainBegins(t, second, "60s")
		eventually(t, 3*time.Second, "new connections begin at the next node", func() bool { return first.Holds(vip) })
		for range 5 {
			settleFor(200 * time.Millisecond)
			says(t, c, "two")
		}
		require.NoError(t, c.Close())
		assert.Zero(t, <-done, "no connection was reset")
	})
}

const (
	echoPort   = 7010
	clientPort = 45001
)

// echoes starts a server on every address of the node that returns each three bytes, and closes the connection after those of "bye".
func echoes(t *testing.T, n *lab.Node) {
	t.Helper()
	l := must(n.Listen(fmt.Sprintf(":%d", echoPort)))(t)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				word := make([]byte, 3)
				for string(word) != "bye" {
					if _, err := io.ReadFull(c, word); err != nil {
						return
					}
					if _, err := c.Write(word); err != nil {
						return
					}
				}
			}()
		}
	}()
}

// dialFrom connects from clientPort.
func dialFrom(t *testing.T, from *lab.Namespace, to netip.AddrPort) net.Conn {
	t.Helper()
	var c net.Conn
	require.NoError(t, from.Do(func() (err error) {
		d := net.Dialer{LocalAddr: &net.TCPAddr{Port: clientPort}, Timeout: trial.SettleLimit}
		c, err = d.Dial("tcp", to.String())
		return err
	}))
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// says sends three bytes, and requires that they come back.
func says(t *testing.T, c net.Conn, word string) {
	t.Helper()
	require.NoError(t, c.SetDeadline(time.Now().Add(trial.SettleLimit)))
	must(c.Write([]byte(word)))(t)
	back := make([]byte, len(word))
	_, err := io.ReadFull(c, back)
	require.NoError(t, err, "the server did not answer")
	require.Equal(t, word, string(back))
}

// manyConnections take a kernel longer than a release waits for their resets.
const manyConnections = 14000

// TestEveryIdleClientIsTold holds connections on which nobody says anything, as most watches of a large cluster: such a client learns of the end
// by a reset alone. Whoever was not told a second or two after the fault is not told at all.
func TestEveryIdleClientIsTold(t *testing.T) {
	faults := trial.ConnectionFaults()
	for vip, names := range map[netip.Addr][]string{ // the bench has all of them with both
		lab.VIP4: {"handover", "the apiserver dies", "SIGSTOP for longer than the address lives"},
		lab.VIP6: {"SIGTERM", "kill -9, the address gone"},
	} {
		t.Run(vip.String(), func(t *testing.T) {
			t.Parallel()
			g := started(t, trial.Config{Addresses: []netip.Addr{vip}, API: true})
			for _, name := range names {
				t.Run(name, func(t *testing.T) {
					require.Contains(t, faults, name)
					c := must(trial.WithConnections(g, manyConnections, 0, faults[name]))(t)
					t.Logf("%d of %d told, the last after %v; outage %v, processor %v", c.Ends.Told(), len(c.Ends), c.After, c.Outage, c.CPU)
					assert.Equal(t, manyConnections, c.Ends.Told())
					for _, n := range g.Lab.Nodes {
						assert.NotContains(t, g.Daemon(n).Log(), "code=KV341", "the node that tells its clients blames the holder for nothing")
					}
					assert.Zero(t, c.Finders, "two nodes answer ARP or neighbour discovery")
				})
			}
		})
	}
}
