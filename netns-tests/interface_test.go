//go:build netns

package netnstests

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

func containsAddress(out, prefix string) bool { return strings.Contains(out, " "+prefix+" ") }

// fromFile runs all nodes from one file that names no interface.
func fromFile(t *testing.T) *trial.Group {
	t.Helper()
	g := prepare(t, trial.Config{})
	for _, n := range g.Lab.Nodes {
		runFile(t, g, n, startConfig)
	}
	settled(t, g)
	return g
}

func TestRenamedInterfaceIsFollowed(t *testing.T) {
	t.Parallel()
	g := fromFile(t)
	holder := settled(t, g)
	require.NoError(t, holder.RenameNIC(0, "uplink0"))
	settleFor(2 * time.Second)
	settled(t, g)
	must(g.Daemon(holder).Terminate(5 * time.Second))(t)
	assert.False(t, holder.Holds(lab.VIP4), "the renamed interface keeps the address")
	settled(t, g)
}

func TestInterfaceIsFoundByItsAltname(t *testing.T) {
	t.Parallel()
	const altname = "uplink-of-this-rack-of-nodes"
	g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 1}})
	n := g.Lab.Nodes[0]
	must(n.Run("ip", "link", "property", "add", "dev", n.NICs[0].Name, "altname", altname))(t)
	runFile(t, g, n, startConfig+"  interface: "+altname+"\n")
	settled(t, g)
	assert.True(t, n.Holds(lab.VIP4))
}

func TestDeletedAndRecreatedInterfaceIsFollowed(t *testing.T) {
	t.Parallel()
	g := fromFile(t)
	holder := settled(t, g)
	require.NoError(t, holder.DeleteNIC(0))
	eventually(t, 5*time.Second, "another node takes over", func() bool {
		h := g.Holders()
		return len(h) == 1 && h[0] != holder
	})
	require.NoError(t, holder.CreateNIC(0))
	next := settled(t, g)
	// The node must be of use again: it takes over when the others are gone.
	for _, n := range g.Others(holder) {
		must(g.Daemon(n).Terminate(5 * time.Second))(t)
	}
	assert.NotEqual(t, holder, next, "a node that comes back takes nothing away from an equal")
	eventually(t, 5*time.Second, "the recreated interface holds the address", func() bool { return holder.Holds(lab.VIP4) })
	assert.True(t, g.Daemon(holder).Alive())
}

func TestRemovedAddressComesBack(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{})
	holder := settled(t, g)
	m := must(g.Lab.Measure(lab.MeasureConfig{}))(t)
	settleFor(100 * time.Millisecond)
	at := m.Mark("address removed by hand")
	require.NoError(t, holder.RemoveAddress(hostPrefix(lab.VIP4)))
	eventually(t, 5*time.Second, "it is there again", func() bool { return len(g.Holders()) > 0 })
	settleFor(time.Second)
	r := m.Stop()
	reached(t, g)
	if r.BySilence(at) == 0 {
		assert.Equal(t, holder.ID, r.Taker(lab.VIP4, at))
		assert.Equal(t, 1, r.Takeovers(lab.VIP4, at))
	}
}

// known counts the members of an entry that a node knows by what they say themselves.
func known(t *testing.T, n *lab.Node, name string) (count int) {
	t.Helper()
	s, err := trial.Keepvip{}.Status(n)
	if err != nil {
		return 0 // not up yet
	}
	for _, v := range s.VIPs {
		for _, m := range v.Members {
			if v.Name == name && !m.Self && m.Version != "" {
				count++
			}
		}
	}
	return count
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
	assert.Zero(t, known(t, n, "apiserver"))
	assert.Contains(t, g.Daemon(n).Log(), "ss -ulpn")
	require.NoError(t, taken.Close())
	eventually(t, 5*time.Second, "the members know each other", func() bool {
		return known(t, n, "apiserver") == 1 && known(t, g.Lab.Nodes[1], "apiserver") == 1
	})
	assert.Len(t, g.Holders(), 1)
}

// The last node of a unicast group has nobody left who answers ARP, and the first one has nobody yet: advertisements do not leave the host at
// all without the MAC of a peer. The node serves the address all the same.
func TestUnicastHolderWithoutPeersServes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		vip      netip.Addr
		peers    string
		interval time.Duration
		first    bool // the others have never been there
	}{
		{lab.VIP4, "10.77.0.11,10.77.0.12,10.77.0.13", 100 * time.Millisecond, true},
		{lab.VIP4, "10.77.0.11,10.77.0.12,10.77.0.13", 20 * time.Millisecond, false},
		{lab.VIP6, "fd77::11,fd77::12,fd77::13", 100 * time.Millisecond, false},
	} {
		t.Run(fmt.Sprintf("%v every %v, first %v", tt.vip, tt.interval, tt.first), func(t *testing.T) {
			t.Parallel()
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
	g := open(t, trial.Config{Product: trial.Keepvip{Args: []string{"--peer", "10.77.0.11,10.77.0.12,10.77.0.13"}}})
	holder := settled(t, g)
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
	assert.False(t, r.Answered(holder.ID, netip.Addr{}, ended+3*calmInterval, r.Ended), "the dead holder")
	reached(t, g)
}

// losesOthers takes the power of all other nodes.
func losesOthers(t *testing.T, g *trial.Group, n *lab.Node) {
	t.Helper()
	for _, other := range g.Others(n) {
		must(other.PowerOff())(t)
	}
}

// An address on another interface than the one of the election has a lease there, moves with the others, and goes with that interface.
func TestAddressOnAnotherInterface(t *testing.T) {
	t.Parallel() // seconds of waiting for timers
	other := netip.MustParseAddr("10.78.0.100")
	l := must(host.Open(lab.Config{Nodes: 3, NICs: [][]string{{"eth0", "eth1"}}}))(t)
	t.Cleanup(l.Close)
	first, second, asker := l.Nodes[0], l.Nodes[1], l.Nodes[2]
	before := must(first.State())(t)
	start := func(n *lab.Node, priority string) *lab.Process {
		p := must(trial.Keepvip{}.Run(n, "--vip", lab.VIP4.String(), "--vip", other.String(), "--interface", "eth0", "--elsewhere", other.String()+"=eth1",
			"--check", "none", "--priority", priority))(t)
		return p
	}
	answers := func(a netip.Addr) bool {
		err := asker.Do(func() error {
			c, err := net.DialTimeout("tcp", netip.AddrPortFrom(a, 9).String(), 200*time.Millisecond)
			if err == nil {
				return c.Close()
			}
			return err
		})
		return err == nil || errors.Is(err, unix.ECONNREFUSED)
	}
	holds := func(n *lab.Node) bool { return n.Holds(lab.VIP4) && n.Holds(other) }
	free := func(n *lab.Node) bool { return !n.Holds(lab.VIP4) && !n.Holds(other) }
	p := start(first, "120")
	eventually(t, 5*time.Second, "it is alone", func() bool { return holds(first) && answers(lab.VIP4) && answers(other) })

	require.NoError(t, p.Signal(unix.SIGSTOP))
	eventually(t, 2*time.Second, "frozen, it does not answer", func() bool { return !answers(lab.VIP4) && !answers(other) })
	assert.True(t, first.Holds(other), "the fence silences the address, and not its lifetime")
	require.NoError(t, p.Signal(unix.SIGCONT))
	eventually(t, 5*time.Second, "it goes on", func() bool { return holds(first) && answers(lab.VIP4) && answers(other) })

	for _, table := range []string{"table netdev dropper { chain c { type filter hook egress device \"eth0\" priority 0; meta l4proto 112 drop; }; }", "delete table netdev dropper"} {
		must(first.Run("nft", table))(t)
		silent := strings.HasPrefix(table, "table")
		eventually(t, 2*time.Second, "what is elsewhere answers while the first interface does", func() bool {
			return answers(lab.VIP4) != silent && answers(other) != silent
		})
	}

	q := start(second, "100")
	for _, state := range []string{"down", "up"} {
		must(first.Run("ip", "link", "set", "eth1", state))(t)
		holder, loser := second, first
		if state == "up" {
			holder, loser = first, second
		}
		eventually(t, 5*time.Second, "eth1 of the first node is "+state, func() bool { return holds(holder) && free(loser) && answers(lab.VIP4) && answers(other) })
	}
	assert.Zero(t, must(p.Terminate(10*time.Second))(t), p.Log())
	eventually(t, 5*time.Second, "the second has both", func() bool { return holds(second) && answers(lab.VIP4) && answers(other) })
	assert.Equal(t, before.Ruleset, must(first.State())(t).Ruleset)
	assert.NotContains(t, p.Log()+q.Log(), "level=ERROR")

	require.NoError(t, q.Kill9())
	must(q.Wait(5 * time.Second))(t)
	must(trial.Keepvip{}.Run(second, "--vip", lab.VIP4.String(), "--interface", "eth0", "--check", "none"))(t)
	fences := func() int {
		s, err := second.State()
		if err != nil {
			return -1
		}
		return strings.Count(s.Ruleset, "table netdev keepvip-")
	}
	eventually(t, 5*time.Second, "the next start takes away what is on the other interface", func() bool { return second.Holds(lab.VIP4) && fences() == 1 })
	assert.False(t, second.Holds(other))
}
