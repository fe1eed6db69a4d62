package trial

import (
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// nodeFault is something that happens to one node, and how it is undone. What the tests, the bench, the soak and the demo do to a node is in the one
// table of them.
type nodeFault struct {
	name        string
	begin, undo func(*lab.Node) error // undo nil: it is over as soon as it has begun
}

func nodeFaults() []nodeFault {
	at := func(do func(*lab.Node) (time.Duration, error)) func(*lab.Node) error {
		return func(n *lab.Node) error { _, err := do(n); return err }
	}
	return []nodeFault{
		{"power", at((*lab.Node).PowerOff), (*lab.Node).PowerOn}, // what ran there has to be started again
		{"cable", at((*lab.Node).PullCable), (*lab.Node).PlugCable},
		{"link down", (*lab.Node).LinkDown, (*lab.Node).LinkUp},
		{"port cut", at((*lab.Node).CutPort), at((*lab.Node).HealPort)},
		{"deaf", func(n *lab.Node) error { return n.LoseAll(lab.In, "") }, (*lab.Node).LoseNothing}, // and what it sends arrives
		{"mute", func(n *lab.Node) error { return n.LoseAll(lab.Out, "") }, (*lab.Node).LoseNothing},
		{"ruleset flushed", Flush, nil}, // as a firewall does that starts
		{"MAC changed", func(n *lab.Node) error { return n.ChangeMAC(net.HardwareAddr{0x02, 0x6c, 0, 0, 0, byte(n.ID)}) }, (*lab.Node).ResetMAC},
		{"own address applied again", (*lab.Node).ApplyAddressesAgain, nil}, // as a network manager does that is restarted
		{"own address away", (*lab.Node).DropAddresses, (*lab.Node).PutAddressesBack},
		{"IPv6 off", (*lab.Node).SwitchIPv6Off, (*lab.Node).SwitchIPv6On},
	}
}

// nodeFaultOf is the one of that name; one that is not there fails as soon as it begins.
func nodeFaultOf(name string) nodeFault {
	all := nodeFaults()
	if i := slices.IndexFunc(all, func(f nodeFault) bool { return f.name == name }); i >= 0 {
		return all[i]
	}
	return nodeFault{name: name, begin: func(*lab.Node) error { return fmt.Errorf("trial: no fault of a node has the name %q", name) }}
}

// ToHolder has a fault of the table happen to the holder for a while; all of it is watched.
func ToHolder(name string, length time.Duration) Fault {
	return nodeFaultOf(name).lasting(length, false)
}

// ToBackup has it happen to the node of the highest address, which does not hold the virtual one.
func ToBackup(name string, length time.Duration) Fault {
	return nodeFaultOf(name).lasting(length, true)
}

func (f nodeFault) lasting(length time.Duration, backup bool) Fault {
	return func(g *Group) (*Result, error) {
		if backup {
			if err := g.makeHolder(1); err != nil {
				return nil, err
			}
		}
		return g.run(f.name, lab.MeasureConfig{}, func(m *lab.Measurement, n *lab.Node) time.Duration {
			if backup {
				n = g.Lab.Nodes[len(g.Lab.Nodes)-1]
			}
			at := m.Mark("%s: %s", n.Label, f.name)
			try.Do(f.begin(n))
			time.Sleep(length)
			if f.undo != nil {
				m.Mark("%s: over", n.Label)
				try.Do(f.undo(n))
			}
			time.Sleep(g.span() + time.Second)
			return at
		})
	}
}
