package trial

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// raftPort is where the members listen.
const raftPort = 9646

// DuringCalls is a fault while somebody without a key calls every member from so many addresses, and says nothing for three
// seconds, which is longer than a handshake may take. The result's CPU is that of the busiest daemon before the fault.
func DuringCalls(fault Fault, addresses, perSecond int) Fault {
	return func(g *Group) (*Result, error) {
		cfg := lab.CallsConfig{Open: 3 * perSecond, PerSecond: perSecond}
		for i := range addresses {
			a := netip.AddrFrom4([4]byte{10, 77, 0, byte(210 + i)})
			if err := g.Lab.Client.AddAddress(a); err != nil {
				return nil, err
			}
			cfg.Sources = append(cfg.Sources, a)
		}
		for _, n := range g.Lab.Nodes {
			cfg.Targets = append(cfg.Targets, netip.AddrPortFrom(n.Address, raftPort))
		}
		before, began := g.cpu(), time.Now()
		calls, err := g.Lab.Call(g.Lab.Client, cfg)
		if err != nil {
			return nil, err
		}
		time.Sleep(3 * time.Second)
		after, took := g.cpu(), time.Since(began)
		res, err := fault(g)
		made := calls.Stop()
		for i, a := range cfg.Sources {
			if _, err := g.Lab.Client.Run("ip", "address", "del", a.String()+"/24", "dev", "eth0"); err != nil {
				return nil, fmt.Errorf("trial: address %d: %w", i, err)
			}
		}
		if err != nil {
			return nil, err
		}
		res.Fault += fmt.Sprintf(", during %d calls from %d addresses", made, addresses)
		for i := range after {
			res.CPU = max(res.CPU, float64(after[i]-before[i])/float64(took)*100)
		}
		return res, nil
	}
}
