package trial

import (
	"net"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// HostFault is something that happens to the host under the address for a while, while everything is watched.
type HostFault struct {
	Name   string
	Backup bool // it happens to the node of the highest address, which does not hold the virtual one; else to the holder
	Do     func(*Group, *lab.Node) error
	Undo   func(*Group, *lab.Node) error // nil: nothing is to be undone
}

// For is the fault of that length.
func (f HostFault) For(length time.Duration) Fault {
	return func(g *Group) (*Result, error) {
		if f.Backup {
			if err := g.makeHolder(1); err != nil {
				return nil, err
			}
		}
		return g.run(f.Name, lab.MeasureConfig{}, func(m *lab.Measurement, n *lab.Node) (time.Duration, error) {
			if f.Backup {
				n = g.Lab.Nodes[len(g.Lab.Nodes)-1]
			}
			at := m.Mark("%s: %s", n.Label, f.Name)
			if err := f.Do(g, n); err != nil {
				return at, err
			}
			time.Sleep(length)
			if f.Undo != nil {
				m.Mark("%s: over", n.Label)
				if err := f.Undo(g, n); err != nil {
					return at, err
				}
			}
			time.Sleep(g.span() + time.Second)
			return at, nil
		})
	}
}

// Deaf lets nothing arrive at a node; what it sends does.
func Deaf(backup bool) HostFault {
	return HostFault{
		Name: "deaf", Backup: backup,
		Do:   func(g *Group, n *lab.Node) error { return g.Lab.Deafen(n) },
		Undo: func(g *Group, _ *lab.Node) error { return g.Lab.Deafen() },
	}
}

// Flushed empties the rule set of the holder, as a firewall does that starts.
func Flushed() HostFault {
	return HostFault{Name: "ruleset flushed", Do: func(_ *Group, n *lab.Node) error { return Flush(n) }}
}

// OtherMAC gives the holder's NIC another MAC address, and its own back.
func OtherMAC() HostFault {
	var own net.HardwareAddr
	return HostFault{
		Name: "MAC changed",
		Do: func(_ *Group, n *lab.Node) error {
			own = n.NICs[0].MAC
			return n.ChangeMAC(net.HardwareAddr{0x02, 0x6c, 0, 0, 0, byte(n.ID)})
		},
		Undo: func(_ *Group, n *lab.Node) error { return n.ChangeMAC(own) },
	}
}

// OwnAddressAgain deletes the holder's own addresses and adds them, as a network manager does that is restarted.
func OwnAddressAgain() HostFault {
	return HostFault{Name: "own address applied again", Do: func(_ *Group, n *lab.Node) error { return n.ApplyAddressesAgain() }}
}

// FamilyOff switches IPv6 off on the holder.
func FamilyOff() HostFault {
	return HostFault{
		Name: "IPv6 off",
		Do:   func(_ *Group, n *lab.Node) error { return n.SwitchIPv6Off() },
		Undo: func(_ *Group, n *lab.Node) error { return n.SwitchIPv6On() },
	}
}
