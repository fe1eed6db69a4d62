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
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/kernel/nfttables"
	"github.com/keepvip/keepvip/members/slots"
)

// TestApplyOfTheSame changes nothing, and of a little more in one transaction.
func TestApplyOfTheSame(t *testing.T) {
	l := newLab(t)
	n := l.members[0]
	n.Enter()
	generation := func() uint32 {
		var c nfttables.Conn
		defer c.Close()
		g, err := c.Generation()
		require.NoError(t, err)
		return g
	}
	before := generation()
	require.NoError(t, n.tables.Apply(n.cfg))
	other := n.cfg
	other.Addresses, other.Ports = slices.Clone(other.Addresses), slices.Clone(other.Ports)
	slices.Reverse(other.Addresses)
	slices.Reverse(other.Ports)
	require.NoError(t, n.tables.Apply(other))
	assert.Equal(t, before, generation())

	other.Slots = &slots.Table{Owner: slices.Clone(n.cfg.Slots.Owner), Second: slices.Clone(n.cfg.Slots.Second)}
	other.Slots.Owner[3] = 1
	require.NoError(t, n.tables.Apply(other))
	assert.Equal(t, before+1, generation())
	assert.Contains(t, nftList(t, "map", "netdev", "keepvip-spread-api", "owners4"), "elements = { 0x00000003 : 10.1.0.6 }")
}

// TestTablesEndByThemselves when nobody renews them. New connections find nobody then; the one in translation goes on at the node that has it.
func TestTablesEndByThemselves(t *testing.T) {
	l := newLab(t)
	l.bound(0)
	vip := both["IPv4"]
	here := l.dial(l.client, vip)
	l.owned(1, slots.None)
	away := l.dial(l.client, vip)
	require.Equal(t, []int{1, 0}, []int{away.member, here.member})
	for _, n := range l.members {
		n.In(func() { require.NoError(t, n.tables.Renew(time.Second)) })
	}
	l.client.Eventually(func() bool { _, err := l.try(l.client, netip.AddrPortFrom(vip, front)); return refused(err) }, "the receiver serves by itself, and has no such port")
	here.goesOn("it is on the receiver")

	for _, n := range l.members {
		n.In(func() { require.NoError(t, n.tables.Renew(time.Minute)) })
	}
	assert.Equal(t, 1, l.dial(l.client, vip).member)
	away.goesOn("the packets find it again")
}

// TestNextRunTakesOver: it finds the tables of a killed one, and loses no connection while it makes its own of them.
func TestNextRunTakesOver(t *testing.T) {
	l := newLab(t)
	l.owned(1, slots.None)
	var conns []*conn
	for _, vip := range both {
		conns = append(conns, l.dial(l.client, vip))
	}
	for range 5 {
		for _, n := range l.members {
			n.tables.Leave()
			var err error
			n.tables, err = Open("api", nil)
			require.NoError(t, err)
			n.In(func() { require.NoError(t, n.tables.Apply(n.cfg)) })
			for _, c := range conns {
				c.goesOn("over a restart")
			}
		}
	}
}

// TestWhatSomebodyHasDeleted is made anew, on a kernel where somebody can delete it.
func TestWhatSomebodyHasDeleted(t *testing.T) {
	onAnOlderKernel(t)
	l := newLab(t)
	l.owned(1, slots.None)
	n := l.members[0]
	n.Enter()
	nft := func(command string) { require.NoError(t, exec.Command("nft", command).Run(), command) }
	for _, command := range []string{"flush ruleset", "delete table ip keepvip-spread-api", "delete table netdev keepvip-spread-api"} {
		for what, mend := range map[string]func() error{
			"renewed": func() error { return n.tables.Renew(time.Minute) },
			"mended": func() error {
				mended, err := n.tables.Mend()
				assert.True(t, mended, command)
				return err
			},
		} {
			nft(command)
			require.NoError(t, mend())
			assert.Equal(t, 1, l.dial(l.client, both["IPv4"]).member, "%s, %s", command, what)
		}
	}
	nft("flush ruleset")
	l.owned(2, slots.None)
	assert.Equal(t, 2, l.dial(l.client, both["IPv6"]).member, "applied")
}

// TestCloseLeavesNothing of the entry, and touches nothing of others.
func TestCloseLeavesNothing(t *testing.T) {
	l := newLab(t)
	n := l.members[0]
	n.Enter()
	for _, name := range []string{"ip keepvip-spread", "ip other", "netdev keepvip-2", "inet keepvip-spread-api"} {
		require.NoError(t, exec.Command("nft", "add table "+name).Run())
	}
	second, err := Open("second", nil)
	require.NoError(t, err)
	require.NoError(t, second.Apply(n.cfg))
	second.Leave()
	require.NoError(t, n.tables.Close())
	require.NoError(t, n.tables.Close())
	assert.NotContains(t, nftList(t, "tables"), "ip keepvip-spread-api")
	gone, err := Cleanup("second")
	require.NoError(t, err)
	assert.Empty(t, gone)
	gone, err = Cleanup()
	require.NoError(t, err)
	assert.Equal(t, []string{"netdev keepvip-spread-second", "ip keepvip-spread-second", "ip6 keepvip-spread-second"}, gone)
	assert.NotContains(t, nftList(t, "tables"), "second")
	for _, table := range []string{"ip keepvip-spread\n", "ip other", "netdev keepvip-2", "inet keepvip-spread-api"} {
		assert.Contains(t, nftList(t, "tables"), table)
	}
}

// TestConnectionsAreCounted where they are served, whoever receives them.
func TestConnectionsAreCounted(t *testing.T) {
	l := newLab(t)
	l.owned(1, slots.None)
	counted := func(member int) (n int) {
		l.members[member].In(func() {
			served, err := l.members[member].tables.Count(100)
			require.NoError(t, err)
			n = served.Ports[Port{unix.IPPROTO_TCP, front, target}]
			assert.Len(t, served.Ports, 2)
			assert.Zero(t, served.Ports[Port{unix.IPPROTO_UDP, dns, 5353}])
			assert.Len(t, served.Clients, n)
			for _, c := range served.Clients {
				assert.Contains(t, []netip.Addr{both["IPv4"], both["IPv6"]}, c.To.Addr())
				assert.Equal(t, uint16(front), c.To.Port())
			}
		})
		return n
	}
	a, b := l.dial(l.client, both["IPv4"]), l.dial(l.client, both["IPv6"])
	l.dial(l.members[0].Space, both["IPv4"])
	assert.Equal(t, []int{0, 2, 0}, []int{counted(0), counted(1), counted(2)}, "what a member asks another is not a connection to the address there")
	l.members[0].In(func() {
		own, err := l.members[0].tables.Count(0)
		require.NoError(t, err)
		assert.Equal(t, map[netip.Addr]int{l.members[1].cfg.Self[0]: 1}, own.To, "who asks counts it")
	})
	a.ends(l.members[1], "the end")
	b.goesOn("the other")
	l.client.Eventually(func() bool { return counted(1) == 1 }, "one has ended")
}

// TestOwnConnectionsAreToldFromThoseOfClients: an operator who drains a node does not wait for what its own programs are connected to there.
func TestOwnConnectionsAreToldFromThoseOfClients(t *testing.T) {
	l := newLab(t)
	l.bound(0)
	for member, n := range l.members[:2] { // with the address, and without
		l.owned(uint8(member), slots.None)
		for name, vip := range both {
			l.dial(l.client, vip)
			require.Equal(t, member, l.dial(n.Space, vip).member, name)
		}
		n.In(func() {
			served, err := n.tables.Count(100)
			require.NoError(t, err)
			assert.Equal(t, 4, served.Ports[Port{unix.IPPROTO_TCP, front, target}], member)
			assert.Equal(t, 2, served.Own, member)
		})
	}
}

// TestTablesWithoutALink: it is told from every other error.
func TestTablesWithoutALink(t *testing.T) {
	l := newLab(t)
	n := l.members[0]
	n.Enter()
	gone := n.cfg
	gone.Index = 4711
	assert.ErrorIs(t, n.tables.Apply(gone), errGone)
	gone = n.cfg
	gone.Link = "eth9"
	assert.ErrorIs(t, n.tables.Apply(gone), errGone)
}

// TestOwnConnectionsToADeadMemberAreEnded: a program of the host learns of it at once, whether the host has the address or not. What goes to other
// members, and what other hosts have here, goes on.
func TestOwnConnectionsToADeadMemberAreEnded(t *testing.T) {
	l := newLab(t)
	l.bound(1)
	l.receives(1)
	for _, n := range l.members {
		for _, vip := range both {
			if n.index != 1 {
				require.NoError(t, n.NeighSet(neighbour(n.Space, vip, l.members[1].Space)))
			}
		}
	}
	var dead, alive []*conn
	for _, vip := range both {
		for _, n := range l.members[:2] {
			l.owned(2, slots.None)
			dead = append(dead, l.dial(n.Space, vip))
			l.owned(1, slots.None)
			alive = append(alive, l.dial(n.Space, vip))
		}
		alive = append(alive, l.dial(l.client, vip))
	}
	l.members[2].In(func() { l.members[2].IP("link set eth0 down") })
	for _, n := range l.members[:2] {
		n.In(func() {
			ended, clients, err := n.tables.EndOwn(n.cfg.Members[2].Addresses...)
			require.NoError(t, err)
			assert.Equal(t, len(both), ended, "of member %d", n.index)
			assert.Empty(t, clients, "they are programs of this host")
			ended, _, err = n.tables.EndOwn(n.cfg.Members[2].Addresses...)
			require.NoError(t, err)
			assert.Zero(t, ended, "once")
		})
	}
	for _, c := range dead {
		_, err := c.Read(make([]byte, 1))
		assert.ErrorIs(t, err, unix.ECONNABORTED)
	}
	for _, c := range alive {
		c.goesOn("its member lives")
	}
}
