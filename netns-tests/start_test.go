//go:build netns

package netnstests

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// `make bench` starts in every order with 5 s between two nodes.
var (
	startGap = flag.Duration("start-gap", 2*time.Second, "the time between two starts, where there is any")
	everyGap = flag.Bool("every-gap", false, "every order, with that time and without, not two of them")
)

// startConfig is one file for all nodes, whatever their order and names.
const startConfig = `apiVersion: keepvip/v1
kind: Config
vips:
- name: apiserver
  addresses: [10.77.0.100]
  check: none
`

// runFile starts keepvip on a node with a file and nothing else of the trial's.
func runFile(t *testing.T, g *trial.Group, n *lab.Node, text string) {
	t.Helper()
	g.Daemons[n.ID-1] = must(trial.Keepvip{}.Run(n, "--config", must(n.WriteFile("keepvip.yaml", text, 0o644))(t)))(t)
}

func TestStartOrders(t *testing.T) {
	t.Parallel()
	orders := [][]int{{1, 2, 3}, {1, 3, 2}, {2, 1, 3}, {2, 3, 1}, {3, 1, 2}, {3, 2, 1}}
	type start struct {
		order []int
		gap   time.Duration
	}
	var starts []start
	for i, order := range orders { // what an order decides is shown in virtual time, too
		if *everyGap || i == 1 {
			starts = append(starts, start{order, 0})
		}
		if *everyGap || i == 4 {
			starts = append(starts, start{order, *startGap})
		}
	}
	g := prepare(t, trial.Config{})
	for _, s := range starts {
		t.Run(fmt.Sprintf("%v, %v apart", s.order, s.gap), func(t *testing.T) {
			stays(t, g, func() *lab.Node {
				for i, id := range s.order {
					if i > 0 {
						settleFor(s.gap)
					}
					runFile(t, g, g.Lab.Nodes[id-1], startConfig)
				}
				holder := settled(t, g)
				settleFor(500 * time.Millisecond)
				if s.gap > 0 {
					return g.Lab.Nodes[s.order[0]-1] // an equal that comes later takes nothing away
				}
				return holder
			})
			for _, n := range g.Lab.Nodes {
				must(g.Daemon(n).Terminate(5 * time.Second))(t)
			}
		})
	}
}

func TestSimultaneousStart(t *testing.T) {
	t.Parallel()
	g := prepare(t, trial.Config{})
	// All three wait for the same moment, then become the daemon.
	at := time.Now().Add(500 * time.Millisecond)
	for _, n := range g.Lab.Nodes {
		path := must(n.WriteFile("keepvip.yaml", startConfig, 0o644))(t)
		args := append([]string{
			"sh", "-c", `sleep "$(awk -v at="$1" 'BEGIN { "date +%s.%N" | getline now; print (at > now) ? at - now : 0 }')"; shift; exec "$@"`,
			"sh", fmt.Sprintf("%.6f", float64(at.UnixMicro())/1e6), must(trial.Binary())(t), "run", "--config", path,
		}, trial.Keepvip{}.Paths(n)...)
		g.Daemons[n.ID-1] = must(n.Start("keepvip", args...))(t)
	}
	stays(t, g, func() *lab.Node {
		holder := settled(t, g)
		settleFor(time.Second)
		return holder
	})
}

func TestDifferentNICNamesWithOneFile(t *testing.T) {
	t.Parallel()
	g := prepare(t, trial.Config{Lab: lab.Config{NICs: [][]string{{"eth0", "eth1"}, {"enp3s0f0", "bond-b"}, {"lan", "storage"}}}})
	for _, n := range g.Lab.Nodes {
		runFile(t, g, n, startConfig)
	}
	settled(t, g)
	measure(t, g, func(g *trial.Group) (*trial.Result, error) {
		// The nodes of this test are started from the file, not from the trial's flags.
		return trial.Terminated(&trial.Group{Lab: g.Lab, Product: staysAway{}, Addresses: g.Addresses, Settings: g.Settings, Daemons: g.Daemons})
	})
	for _, n := range g.Holders() {
		assert.Contains(t, must(n.Addresses())(t)[n.NICs[0].Name], lab.VIP4, "on the NIC of the address's subnet")
	}
}

// staysAway is a product that is not started again.
type staysAway struct{}

func (staysAway) Name() string { return "keepvip" }

func (staysAway) Start(n *lab.Node, _ trial.Settings) (*lab.Process, error) {
	return n.Start("nothing", "true")
}

func TestSecondLANByName(t *testing.T) {
	t.Parallel()
	g := prepare(t, trial.Config{Lab: lab.Config{NICs: [][]string{{"eth0", "eth1"}}}})
	n := g.Lab.Nodes[0]
	// Outside every local subnet, so the interface has to be named.
	g.Daemons[0] = must(trial.Keepvip{}.Run(n, "--vip", "192.0.2.10", "--interface", "eth1", "--check", "none"))(t)
	eventually(t, 5*time.Second, "192.0.2.10 on eth1", func() bool {
		out, err := n.Run("ip", "-o", "addr", "show", "dev", "eth1")
		return err == nil && assert.ObjectsAreEqual(true, len(out) > 0) && containsAddress(out, "192.0.2.10/32")
	})
}

func TestSingleNodeWithoutAPIServerHolds(t *testing.T) {
	t.Parallel()
	g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 1}})
	g.Settings[0].API = true // checked, but nothing listens
	require.NoError(t, g.Start(g.Lab.Nodes[0]))
	settled(t, g)
	s := statusOf(t, g.Lab.Nodes[0])
	require.Len(t, s.VIPs, 1)
	assert.Equal(t, "active", s.VIPs[0].State)
	assert.NotEqual(t, "healthy", s.VIPs[0].Check.State)
}

const fileHead = "apiVersion: keepvip/v1\nkind: Config\n"

func TestBadConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 1}})
	n := g.Lab.Nodes[0]
	openKey := must(n.WriteFile("open.key", strings.Repeat("ab", 32)+"\n", 0o644))(t)
	own := n.Address.String()
	before := must(n.State())(t)
	for _, c := range []struct {
		name string
		file string   // content, "" for none
		args []string // instead of a file
		want []string // in the one line of the error
	}{
		{name: "unknown key", file: fileHead + "vips:\n- addresses: [10.77.0.100]\n  priorty: 100\n", want: []string{"keepvip.yaml", "priorty"}},
		{name: "address in no local subnet", args: []string{"--vip", "192.0.2.10", "--check", "none"}, want: []string{"192.0.2.10", "interface"}},
		{name: "the node's own address", args: []string{"--vip", own, "--check", "none"}, want: []string{own + " is this node's own address on eth0: choose one that no host has"}},
		{name: "world-readable key file", args: []string{"--vip", "10.77.0.100", "--key-file", openKey}, want: []string{openKey}},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := c.args
			if c.file != "" {
				args = []string{"--config", must(n.WriteFile("keepvip.yaml", c.file, 0o644))(t)}
			}
			p := must(trial.Keepvip{}.Run(n, args...))(t)
			code, err := p.Wait(5 * time.Second)
			require.NoError(t, err, p.Log())
			after := must(n.State())(t)

			assert.Equal(t, 2, code, "exit status")
			assert.Empty(t, p.Stdout())
			message := strings.TrimSuffix(p.Stderr(), "\n")
			assert.NotEmpty(t, message)
			assert.NotContains(t, message, "\n", "more than one line")
			for _, want := range c.want {
				assert.Contains(t, message, want)
			}
			assert.Equal(t, before, after, "the host was changed")
		})
	}
}

func TestConfigValidateJudgesAddressesByTheNetworksOfThisHost(t *testing.T) {
	t.Parallel()
	g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 1}})
	n := g.Lab.Nodes[0]
	for address, want := range map[string]int{
		"10.77.0.100": 0, n.Address.String(): 2, "10.77.0.255": 2, "10.77.0.0": 2, "fd77::": 2, n.Addr6.String(): 2,
		"192.0.2.10": 0, // another node's, as far as this one can know
	} {
		p, code := mustTwo(trial.Keepvip{}.Command(n, "config", "validate", "--vip", address))(t)
		assert.Equal(t, want, code, "%s: %s", address, p.Stderr())
	}
}

func TestSecondKeepvipIsRefused(t *testing.T) {
	t.Parallel() // seconds of waiting for timers
	g := open(t, trial.Config{Lab: lab.Config{Nodes: 1}})
	n := settled(t, g)
	other := []string{"--vip", lab.VIP4.String(), "--check", "none", "--socket", n.Path("run/other.sock"), "--state-dir", n.Path("other")}
	before := must(n.Addresses())(t)

	p := must(trial.Keepvip{}.Run(n, other...))(t)
	code, err := p.Wait(6 * time.Second)
	require.NoError(t, err, p.Log())
	assert.Equal(t, 1, code)
	assert.Contains(t, p.Stderr(), fmt.Sprintf("(process %d, control socket %s)", g.Daemon(n).PID(), trial.Socket(n)))
	assert.Contains(t, p.Stderr(), "stop it first")

	for _, socket := range []string{n.Path("run/other.sock"), trial.Socket(n)} {
		p, code := mustTwo(trial.Keepvip{}.Command(n, "cleanup", "--socket", socket))(t)
		assert.Equal(t, 1, code)
		assert.Empty(t, p.Stdout())
		assert.Contains(t, p.Stderr(), "stop it first")
	}
	assert.Equal(t, before, must(n.Addresses())(t))
	s := statusOf(t, n)
	assert.True(t, s.VIPs[0].Fence.Standing)
	assert.Zero(t, s.VIPs[0].Fence.Repairs)

	require.NoError(t, g.Daemon(n).Kill9())
	p = must(trial.Keepvip{}.Run(n, other...))(t)
	eventually(t, 5*time.Second, "the lock is gone with the process that had it", func() bool {
		_, code, err := trial.Keepvip{}.Command(n, "status", "--socket", n.Path("run/other.sock"))
		return err == nil && code == 0
	})
	must(p.Terminate(5 * time.Second))(t)
}

// What a reload does not name never moves: entries are added on all nodes and removed again, in both orders of the nodes.
func TestReloadMovesNoEntryThatItDoesNotName(t *testing.T) {
	t.Parallel()
	for holderFirst, group := range map[bool]string{true: "", false: ", group: g"} {
		t.Run(fmt.Sprintf("holder first %v%s", holderFirst, group), func(t *testing.T) {
			t.Parallel()
			reloadOthers(t, group, holderFirst)
		})
	}
}

func reloadOthers(t *testing.T, group string, holderFirst bool) {
	addresses := []netip.Addr{lab.VIP4}
	for range 2 {
		addresses = append(addresses, addresses[len(addresses)-1].Next())
	}
	file := func(entries int) string {
		text := fileHead + "vips:\n"
		for i, a := range addresses[:entries] {
			text += fmt.Sprintf("- {name: e%d, addresses: [%s], check: none, vrrp: {id: %d}%s}\n", i, a, 60+i, group)
		}
		return text
	}
	g := prepare(t, trial.Config{})
	for _, n := range g.Lab.Nodes {
		runFile(t, g, n, file(2))
	}
	holder := settled(t, g)
	holds := func(entries int) bool { // whichever node has the group by now
		return group == "" || slices.ContainsFunc(g.Lab.Nodes, func(n *lab.Node) bool {
			return !slices.ContainsFunc(addresses[:entries], func(a netip.Addr) bool { return !n.Holds(a) })
		})
	}
	eventually(t, 20*time.Second, "all of a group are on one node", func() bool { return holds(2) })
	nodes := slices.Clone(g.Lab.Nodes)
	slices.SortStableFunc(nodes, func(a, b *lab.Node) int {
		switch {
		case a == holder && holderFirst, b == holder && !holderFirst:
			return -1
		case b == holder && holderFirst, a == holder && !holderFirst:
			return 1
		}
		return 0
	})
	m := must(g.Lab.Measure(lab.MeasureConfig{NoDirect: true}))(t)
	begun := strings.Count(g.Logs(), "state changed\" vip=e0")
	for _, entries := range []int{1, 2, 3, 2, 1} {
		for _, n := range nodes {
			must(n.WriteFile("keepvip.yaml", file(entries), 0o644))(t)
			require.Zero(t, command(t, n, "reload"))
			settleFor(700 * time.Millisecond) // two Active_Down_Intervals: what is to go wrong has done so
		}
		eventually(t, 20*time.Second, "entries that are added find their holder", func() bool { return holds(entries) })
	}
	if m.Stop().BySilence(0) == 0 {
		assert.Equal(t, begun, strings.Count(g.Logs(), "state changed\" vip=e0"), "the entry that no reload has named")
	}
	assert.NotContains(t, g.Logs(), "KV301")
}

// TestSoak is the beginning of `make soak`, with faults that are always the same. What took too long is for that one to judge.
func TestSoak(t *testing.T) {
	const seed, episodes = 1, 2
	c := must(trial.OpenChaos(host, seed))(t)
	t.Cleanup(c.Close)
	var tally trial.Tally
	for i := range episodes {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			res := must(c.Run(i))(t)
			tally.Add(res)
			t.Log(res)
			if !assert.Empty(t, res.Wrong, res.What) {
				res.Report.Timeline(os.Stdout, 0)
				t.Log(c.Logs(60))
			}
		})
	}
	tally.Print(t.Output())
}
