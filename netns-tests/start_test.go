//go:build netns

package netnstests

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

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
