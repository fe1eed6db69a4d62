//go:build netns

package spreadtables

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/netnstest"
	"github.com/keepvip/keepvip/members/slots"
)

// TestEveryMemberIsAsked has a connection at each member, whoever owns its slot and whoever is asked second.
func TestEveryMemberIsAsked(t *testing.T) {
	l := newLab(t)
	for _, macs := range []bool{true, false} {
		if !macs {
			l.forgetMACs()
		}
		for name, vip := range both {
			var open []*conn
			for member := range l.members {
				l.owned(uint8(member), slots.None)
				open = append(open, l.dial(l.client, vip))
				require.Equal(t, member, open[member].member)
			}
			for receiver := range l.members {
				l.receives(receiver)
				for _, slot := range [][2]uint8{{0, 1}, {0, 2}, {1, 0}, {1, 2}, {2, 0}, {2, 1}, {2, slots.None}, {slots.None, 1}, {slots.None, slots.None}} {
					l.owned(slot[0], slot[1])
					for _, c := range open {
						c.goesOn(name)
					}
				}
			}
			for _, c := range open {
				require.NoError(t, c.asksMuch())
				c.ends(l.members[c.member], "the server learns of the end")
			}
		}
	}
}

// TestMembersWhoseTablesDiffer, as for a moment whenever one changes: each has another owner.
func TestMembersWhoseTablesDiffer(t *testing.T) {
	l := newLab(t)
	for name, vip := range both {
		var open []*conn
		for member := range l.members {
			l.owned(uint8(member), slots.None)
			open = append(open, l.dial(l.client, vip))
		}
		for receiver := range l.members {
			l.receives(receiver)
			for _, owners := range [][3]uint8{{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {1, 0, 0}, {1, 0, slots.None}, {2, 2, 1}} {
				for i, n := range l.members {
					n.cfg.Slots = ownedBy(owners[i], (owners[i]+1)%3)
				}
				l.apply()
				for _, c := range open {
					c.goesOn(name)
				}
			}
		}
		for _, c := range open {
			require.NoError(t, c.Close())
		}
	}
}

// TestOlderConnectionOfTheSamePort is still tracked by the member that a slot returns to: what comes for the new one is out of the window there,
// and goes on to where it is.
func TestOlderConnectionOfTheSamePort(t *testing.T) {
	l := newLab(t)
	for name, vip := range both {
		l.owned(1, slots.None)
		older := l.dial(l.client, vip)
		from := older.LocalAddr()
		older.vanishes()
		time.Sleep(100 * time.Millisecond) // so that the sequence numbers, which begin by a clock (RFC 9293 3.4.1), are out of the older one's window
		l.owned(2, slots.None)
		c, err := l.tryFrom(l.client, from, netip.AddrPortFrom(vip, front))
		require.NoError(t, err, name)
		require.Equal(t, 2, c.member, name)
		for _, second := range []uint8{2, 0} {
			l.owned(1, second)
			c.goesOn(name)
		}
		l.owned(0, 1)
		c.goesOn(name)
		require.NoError(t, c.asksMuch())
		c.ends(l.members[2], name)
	}
}

// TestMemberWithoutAnAddressOfAFamily serves nothing in that family, also as the receiver: the others do.
func TestMemberWithoutAnAddressOfAFamily(t *testing.T) {
	l := newLab(t)
	l.members[1].cfg.Self = l.members[1].cfg.Self[:1]
	for _, n := range l.members {
		n.cfg.Members[1].Addresses = n.cfg.Members[1].Addresses[:1]
	}
	table := slots.Make([]slots.Member{
		{Address: netip.MustParseAddr("10.1.0.5"), Condition: slots.Fit, Weight: 1},
		{Address: netip.MustParseAddr("10.1.0.6"), Condition: slots.Fit, Weight: 1},
		{Address: netip.MustParseAddr("10.1.0.7"), Condition: slots.Fit, Weight: 1},
	}, nil)
	l.spread(table)
	var open []*conn
	for receiver := range l.members {
		l.receives(receiver)
		for name, vip := range both {
			served := make([]int, 3)
			for range 60 {
				c := l.dial(l.client, vip)
				served[c.member]++
				open = append(open, c)
			}
			t.Logf("%s, received by %d: %v", name, receiver, served)
			assert.Equal(t, name == "IPv4", served[1] > 0)
			assert.Positive(t, min(served[0], served[2]))
		}
		for _, c := range open {
			c.goesOn("the address has moved")
		}
	}
}

// TestKernelThatIsNotLoose takes no connection up in its midst: members find it all the same, and nobody answers for it.
func TestKernelThatIsNotLoose(t *testing.T) {
	l := newLab(t)
	vip := both["IPv6"]
	for _, n := range l.members {
		n.In(func() { n.Sysctl("net/netfilter/nf_conntrack_tcp_loose", "0") })
		assert.False(t, n.loose())
	}
	l.owned(0, slots.None)
	c := l.dial(l.client, vip)
	for _, slot := range [][2]uint8{{1, 0}, {1, 2}, {2, 1}} {
		l.owned(slot[0], slot[1])
		c.goesOn("it is where it was")
	}
	c.ends(l.members[0], "and ends there")
}

func (n *node) loose() (is bool) {
	n.In(func() { is = n.tables.Abilities().SecondChance })
	return is
}

// TestThirdMemberIsAskedAtOnce: it takes no retransmission.
func TestThirdMemberIsAskedAtOnce(t *testing.T) {
	l := newLab(t)
	vip := both["IPv4"]
	l.owned(0, slots.None)
	c := l.dial(l.client, vip)
	l.owned(2, 1)
	c.goesOn("the neighbours are known")
	quickest := netnstest.Patience
	for range 20 {
		began := time.Now()
		c.goesOn("")
		quickest = min(quickest, time.Since(began))
	}
	t.Log("by two others:", quickest)
	assert.Less(t, quickest, 100*time.Millisecond)
}

// vanishes ends a connection without a word to the member, as the loss of power does.
func (c *conn) vanishes() {
	c.t.Helper()
	raw, err := c.SyscallConn()
	require.NoError(c.t, err)
	require.NoError(c.t, raw.Control(func(fd uintptr) {
		require.NoError(c.t, unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_REPAIR, 1))
	}))
	require.NoError(c.t, c.Close())
}

// TestListenerOnTheAddressAlone of a member that does not have the address takes no packet of a connection that another member has.
func TestListenerOnTheAddressAlone(t *testing.T) {
	l := newLab(t)
	other := l.members[1]
	other.In(func() {
		other.Sysctl("net/ipv4/ip_nonlocal_bind", "1")
		other.Sysctl("net/ipv6/ip_nonlocal_bind", "1")
		for _, vip := range both {
			listener, err := net.Listen("tcp", netip.AddrPortFrom(vip, front).String())
			require.NoError(t, err)
			t.Cleanup(func() { _ = listener.Close() })
		}
	})
	for name, vip := range both {
		l.owned(2, slots.None)
		c := l.dial(l.client, vip)
		l.owned(1, 2)
		c.goesOn(name)
		c.ends(l.members[2], name)
	}
}
