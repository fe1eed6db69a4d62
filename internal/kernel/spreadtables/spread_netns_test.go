//go:build netns

package spreadtables

import (
	"net/netip"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/netnstest"
	"github.com/keepvip/keepvip/members/slots"
)

// TestConnectionGoesToTheOwnerOfItsSlot has each member be the receiver, the one that owns all slots included. Nobody has the address.
func TestConnectionGoesToTheOwnerOfItsSlot(t *testing.T) {
	l := newLab(t)
	for name, vip := range both {
		for owner := range l.members {
			l.owned(uint8(owner), slots.None)
			for receiver := range l.members {
				l.receives(receiver)
				c := l.dial(l.client, vip)
				assert.Equal(t, owner, c.member, "%s, received by %d", name, receiver)
				assert.Equal(t, c.LocalAddr().(interface{ AddrPort() netip.AddrPort }).AddrPort().Addr().String(), c.from, "the source stays")
				c.goesOn(name)
				before := l.members[receiver].Link("eth0").Attrs().Statistics.TxBytes
				require.NoError(t, c.asksMuch())
				if sent := l.members[receiver].Link("eth0").Attrs().Statistics.TxBytes - before; receiver != owner {
					assert.Less(t, sent, uint64(bulk/4), "%s: the answer does not go by the receiver %d", name, receiver)
				}
				c.ends(l.members[owner], name)
			}
		}
	}
}

func TestConnectionsAreSpread(t *testing.T) {
	l := newLab(t)
	l.spread(slots.Make([]slots.Member{
		{Address: netip.MustParseAddr("10.1.0.5"), Condition: slots.Fit, Weight: 1},
		{Address: netip.MustParseAddr("10.1.0.6"), Condition: slots.Fit, Weight: 1},
		{Address: netip.MustParseAddr("10.1.0.7"), Condition: slots.Fit, Weight: 1},
	}, nil))
	for name, vip := range both {
		served := make([]int, 3)
		for range 90 {
			served[l.dial(l.client, vip).member]++
		}
		t.Logf("%s: %v", name, served)
		assert.Greater(t, slices.Min(served), 10, name)
	}
}

// TestSecondChanceKeepsAConnection moves a slot while a connection is open: it goes on where it is, and what is new goes to the new owner.
// The end of the connection arrives, too.
func TestSecondChanceKeepsAConnection(t *testing.T) {
	l := newLab(t)
	for name, vip := range both {
		for receiver := range l.members {
			l.receives(receiver)
			l.owned(1, slots.None)
			kept, reset := l.dial(l.client, vip), l.dial(l.client, vip)
			require.Equal(t, []int{1, 1}, []int{kept.member, reset.member})
			l.owned(2, 1)
			require.Equal(t, 2, l.dial(l.client, vip).member)
			for range 3 {
				kept.goesOn(name)
			}
			require.NoError(t, kept.asksMuch())
			kept.ends(l.members[1], name)

			require.NoError(t, reset.SetLinger(0))
			require.NoError(t, reset.Close())
			l.members[1].Eventually(func() bool { return l.members[1].open.Load() == 0 }, "the member's socket goes by the client's reset")
		}
	}
}

// TestUnknownConnectionIsReset: nobody has it who is alive, so the client learns at once.
func TestUnknownConnectionIsReset(t *testing.T) {
	l := newLab(t)
	for name, vip := range both {
		l.owned(0, slots.None)
		c := l.dial(l.client, vip)
		l.receives(1)
		dead := ownedBy(1, 2)
		dead.Next = []uint8{1, 2, 1}
		l.spread(dead)
		_, err := c.Write([]byte("x"))
		require.NoError(t, err)
		began := time.Now()
		_, err = c.Read(make([]byte, 1))
		assert.True(t, refused(err), "%s: %v", name, err)
		assert.Less(t, time.Since(began), netnstest.Patience/2)
	}
}

// TestMemberIsAClient asks from each member, also the holder, and also where it owns the slot.
func TestMemberIsAClient(t *testing.T) {
	l := newLab(t)
	l.bound(1)
	for _, n := range l.members { // as everybody on the link knows it
		for _, vip := range both {
			if n.index != 1 {
				require.NoError(t, n.NeighSet(neighbour(n.Space, vip, l.members[1].Space)))
			}
		}
	}
	for name, vip := range both {
		for _, n := range l.members {
			var open []*conn
			for owner := range l.members {
				l.owned(uint8(owner), slots.None)
				c := l.dial(n.Space, vip)
				assert.Equal(t, owner, c.member, "%s from %d", name, n.index)
				assert.Contains(t, n.cfg.Self, netip.MustParseAddr(c.from), "%s from %d: never the address itself", name, n.index)
				require.NoError(t, c.asksMuch())
				open = append(open, c)
			}
			for _, c := range open {
				c.goesOn("whoever owns the slot now")
			}
		}
	}
}

// TestOtherPortIsServedByTheReceiver: as without these tables.
func TestOtherPortIsServedByTheReceiver(t *testing.T) {
	l := newLab(t)
	l.bound(0)
	l.owned(1, slots.None)
	for _, vip := range both {
		assert.Equal(t, 1, l.dial(l.client, vip).member)
		assert.Equal(t, 0, l.dialPort(l.client, vip, target).member)
	}
}

// TestNobodyIsFit: the receiver serves by itself.
func TestNobodyIsFit(t *testing.T) {
	l := newLab(t)
	l.owned(slots.None, slots.None)
	for _, vip := range both {
		assert.Equal(t, 0, l.dial(l.client, vip).member)
	}
	l.spread(nil)
	for _, vip := range both {
		assert.Equal(t, 0, l.dial(l.client, vip).member)
	}
}

// TestMembersThatDisagree have each other for the owner: what one has sent on the other does not send back, marked or not.
func TestMembersThatDisagree(t *testing.T) {
	for _, macs := range []bool{true, false} {
		l := newLab(t)
		if !macs {
			l.forgetMACs()
		}
		all := func(owner uint8) *slots.Table { return ownedBy(owner, slots.None) }
		l.members[0].cfg.Slots, l.members[1].cfg.Slots, l.members[2].cfg.Slots = all(1), all(2), all(0)
		l.apply()
		for name, vip := range both {
			for receiver := range l.members {
				l.receives(receiver)
				c := l.dial(l.client, vip)
				assert.Equal(t, (receiver+1)%3, c.member, "%s, received by %d", name, receiver)
				before := l.wires.Link("m1").Attrs().Statistics.TxPackets
				c.goesOn(name)
				assert.Less(t, l.wires.Link("m1").Attrs().Statistics.TxPackets-before, uint64(20), "nothing goes round")
			}
		}
	}
}

// TestMemberWithoutAMAC gets what is marked, behind the link: new connections, and second chances.
func TestMemberWithoutAMAC(t *testing.T) {
	l := newLab(t)
	l.forgetMACs()
	for name, vip := range both {
		for receiver := range l.members {
			l.receives(receiver)
			l.owned(1, slots.None)
			c := l.dial(l.client, vip)
			require.Equal(t, 1, c.member, name)
			require.NoError(t, c.asksMuch())
			l.owned(2, 1)
			c.goesOn(name)
			c.ends(l.members[1], name)
		}
	}
}

// TestKernelWithoutForwarding has no table at the link: all goes on behind it.
func TestKernelWithoutForwarding(t *testing.T) {
	l := newLab(t)
	for name, vip := range both {
		for receiver := range l.members {
			l.receives(receiver)
			l.owned(1, slots.None)
			for _, n := range l.members {
				n.In(func() { _ = exec.Command("nft", "delete table netdev keepvip-spread-api").Run() })
			}
			c := l.dial(l.client, vip)
			require.Equal(t, 1, c.member, name)
			require.NoError(t, c.asksMuch())
			l.owned(2, 1)
			c.goesOn(name)
			c.ends(l.members[1], name)
		}
	}
}

// TestPodOfAMember connects from another link of a member to the address, which another node has. What the member sends on would stay there: that node may
// serve nothing.
func TestPodOfAMember(t *testing.T) {
	l := newLab(t)
	l.bound(0)
	n, pod := l.members[1], netnstest.New(t)
	quick(pod)
	n.Pair("pods", pod, "eth0")
	n.Has("pods", "10.2.0.1/24", "fd02::1/64")
	pod.Has("eth0", "10.2.0.9/24", "fd02::9/64")
	pod.In(func() {
		pod.IP("route add default via 10.2.0.1")
		pod.IP("route add default via fd02::1")
	})
	n.In(func() {
		n.Sysctl("net/ipv4/ip_forward", "1")
		n.Sysctl("net/ipv6/conf/all/forwarding", "1")
	})
	l.members[0].In(func() {
		l.members[0].IP("route add 10.2.0.0/24 via 10.1.0.6")
		l.members[0].IP("route add fd02::/64 via fd01::6")
	})
	for _, vip := range both {
		require.NoError(t, n.NeighSet(neighbour(n.Space, vip, l.members[0].Space)))
	}
	for name, vip := range both {
		n.cfg.NeverHolds = false
		l.owned(1, slots.None)
		from := l.dial(pod, vip)
		assert.Equal(t, 0, from.member, "%s: the receiver keeps it", name)
		n.cfg.NeverHolds = true
		l.apply()
		c := l.dial(pod, vip)
		assert.Equal(t, 1, c.member, name)
		assert.Equal(t, map[bool]string{true: "10.2.0.9", false: "fd02::9"}[vip.Is4()], c.from, name)
		l.owned(2, 1)
		c.goesOn(name)
		from.goesOn(name)
		assert.Equal(t, 0, l.dial(pod, vip).member, "%s: the member gets no new ones", name)
	}
}

// TestReceiverThatIsNoMember sends on, also second chances of nobody, and translates nothing.
func TestReceiverThatIsNoMember(t *testing.T) {
	l := newLab(t)
	l.bound(0)
	for i := range l.members[0].cfg.Members {
		l.members[0].cfg.Members[i].Self = false
	}
	for name, vip := range both {
		l.owned(1, slots.None)
		c := l.dial(l.client, vip)
		require.Equal(t, 1, c.member, name)
		l.owned(2, 1)
		c.goesOn(name)
		assert.Equal(t, 2, l.dial(l.members[0].Space, vip).member, name)
		l.owned(slots.None, slots.None)
		_, err := l.try(l.client, netip.AddrPortFrom(vip, front))
		assert.True(t, refused(err), "%s: %v", name, err)
	}
}
