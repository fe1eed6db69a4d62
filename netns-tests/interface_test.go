//go:build netns

package netnstests

import (
	"errors"
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

func TestRenamedInterfaceIsFollowed(t *testing.T) {
	t.Parallel()
	g := prepare(t, trial.Config{})
	for _, n := range g.Lab.Nodes { // from one file that names no interface
		runFile(t, g, n, startConfig)
	}
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
