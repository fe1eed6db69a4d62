//go:build netns

package netnstests

import (
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// known tells whether a node knows so many members by what they say themselves.
func known(n *lab.Node, count int) bool {
	return shows(n, func(v trial.VIPStatus) bool {
		silent := func(m trial.Member) bool { return m.Self || m.Version == "" }
		return len(slices.DeleteFunc(v.Members, silent)) == count
	})()
}

// Any user may take the port before keepvip starts. VRRP goes on without the members, and they find each other when it is free.
func TestMembersWaitForATakenPort(t *testing.T) {
	t.Parallel() // seconds of waiting for timers
	g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 2}})
	n := g.Lab.Nodes[0]
	var taken net.PacketConn
	require.NoError(t, n.Do(func() (err error) {
		taken, err = net.ListenPacket("udp", ":9646")
		return err
	}))
	require.NoError(t, g.StartAll())
	settled(t, g)
	assert.True(t, known(n, 0))
	assert.Contains(t, g.Daemon(n).Log(), "ss -ulpn")
	require.NoError(t, taken.Close())
	eventually(t, 5*time.Second, "the members know each other", func() bool { return known(n, 1) && known(g.Lab.Nodes[1], 1) })
	settled(t, g)
}

// The last node of a unicast group has nobody left who answers ARP, and the first one has nobody yet: advertisements do not leave the host at
// all without the MAC of a peer. The node serves the address all the same.
func TestUnicastHolderWithoutPeersServes(t *testing.T) {
	type row struct {
		vip      netip.Addr
		peers    string
		interval time.Duration
		first    bool // the others have never been there
	}
	each(t, map[string]row{
		"first":       {lab.VIP4, "10.77.0.11,10.77.0.12,10.77.0.13", 100 * time.Millisecond, true},
		"last, 20 ms": {lab.VIP4, "10.77.0.11,10.77.0.12,10.77.0.13", 20 * time.Millisecond, false},
		"last, IPv6":  {lab.VIP6, "fd77::11,fd77::12,fd77::13", 100 * time.Millisecond, false},
	}, func(t *testing.T, tt row) {
		g := prepare(t, trial.Config{
			Addresses: []netip.Addr{tt.vip}, Interval: tt.interval, Product: trial.Keepvip{Args: []string{"--peer", tt.peers}},
		})
		holder := g.Lab.Nodes[0]
		if tt.first {
			losesOthers(t, g, holder)
			require.NoError(t, g.Start(holder))
			eventually(t, 5*time.Second, "the only node serves", func() bool {
				return g.Lab.Reaches(g.Lab.Client.Namespace, tt.vip, 100*time.Millisecond)
			})
		} else {
			require.NoError(t, g.StartAll())
			holder = settled(t, g)
		}
		m := must(g.Lab.Measure(lab.MeasureConfig{Targets: g.Addresses}))(t)
		if !tt.first {
			losesOthers(t, g, holder)
		}
		_, err := holder.Run("ip", "neigh", "flush", "dev", holder.NICs[0].Name) // as half a minute does
		require.NoError(t, err)
		settleFor(8 * time.Second) // the kernel gives up a peer after three, and tries again
		s := m.Stop().Stream("c1", tt.vip)
		assert.Less(t, s.Lost, s.Sent/2, "it falls silent")
		eventually(t, 5*time.Second, "it serves, and says so", func() bool {
			s := statusOf(t, holder)
			return s.VIPs[0].Observed == "active" && !s.VIPs[0].Silent
		})
	})
}

// The first node of a cluster may have a list that names only itself.
func TestUnicastNodeAloneOnItsListServes(t *testing.T) {
	t.Parallel() // seconds of waiting for timers
	g := open(t, trial.Config{
		Lab: lab.Config{Nodes: 1}, Addresses: dualStack()[:1], Product: trial.Keepvip{Args: []string{"--peer", "10.77.0.11"}},
	})
	n := g.Lab.Nodes[0]
	serves := func() bool { return g.Lab.Reaches(g.Lab.Client.Namespace, lab.VIP4, 100*time.Millisecond) }
	eventually(t, 5*time.Second, "it serves", serves)
	must(n.Run("ip", "link", "set", n.NICs[0].Name, "address", "02:77:00:00:00:77"))(t)
	rec := must(g.Lab.Record())(t)
	settleFor(time.Second) // three leases
	frames := rec.Stop()
	require.NotEmpty(t, frames)
	for _, f := range frames {
		assert.Equal(t, []byte("\x02\x77\x00\x00\x00\x77\x02\x77\x00\x00\x00\x77"), f.Data[:12], "from its MAC to its MAC")
	}
	eventually(t, 2*time.Second, "it serves with another MAC", serves)
	s := statusOf(t, n)
	assert.Equal(t, "active", s.VIPs[0].Observed)
	assert.False(t, s.VIPs[0].Silent)
}

// Advertisements to a peer whose MAC is not known wait in the kernel, and outlive the process that made them. They renew no lease when
// the peer answers ARP at last.
func TestUnicastAdvertisementsThatLeaveLaterRenewNothing(t *testing.T) {
	t.Parallel() // seconds of waiting for timers
	g, holder := openHeld(t, trial.Config{Product: trial.Keepvip{Args: []string{"--peer", "10.77.0.11,10.77.0.12,10.77.0.13"}}})
	dead := g.Lab.Nodes[holder.ID%3]
	m := must(g.Lab.Measure(lab.MeasureConfig{Targets: g.Addresses}))(t)
	must(dead.PowerOff())(t)
	_, err := holder.Run("ip", "neigh", "flush", "dev", holder.NICs[0].Name) // as half a minute does
	require.NoError(t, err)
	settleFor(500 * time.Millisecond)
	require.NoError(t, g.Daemon(holder).Kill9())
	killed, err := g.Daemon(holder).Wait(20 * time.Second)
	require.NoError(t, err, killed)
	ended := g.Lab.Now()
	settleFor(time.Second)
	_, err = dead.HealPort() // its kernel answers ARP: the third and last question comes in half a second
	require.NoError(t, err)
	settleFor(1500 * time.Millisecond)
	r := m.Stop()
	assert.False(t, r.Answered(holder.ID, lab.VIP4, ended+3*calmInterval, r.Ended), "the dead holder")
	reached(t, g)
}

// losesOthers takes the power of all other nodes.
func losesOthers(t *testing.T, g *trial.Group, n *lab.Node) {
	t.Helper()
	for _, other := range g.Others(n) {
		must(other.PowerOff())(t)
	}
}
