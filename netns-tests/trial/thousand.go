package trial

import (
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// OpenThousand opens a group of two nodes with a thousand addresses in one election. The group's address is the first of them.
func OpenThousand(p Product, v6 bool) func(*lab.Host) (*Group, error) {
	return func(host *lab.Host) (*Group, error) {
		cfg := Config{Lab: lab.Config{Nodes: 2}, Product: p, Addresses: manyAddresses(1000, v6), Priorities: []int{200, 100}, Interval: time.Second}
		return openBy(host, cfg, func(g *Group) error {
			err := g.StartAll()
			g.Addresses = g.Addresses[:1]
			return err
		})
	}
}

// ThousandDie lets the holder of many addresses die. Answered becomes the time from the first bound address to the last that answers.
func ThousandDie(g *Group) (_ *Result, err error) {
	defer try.Catch(&err)
	holder := try.Get(g.Settle())
	cost := try.Get(takeAll(g, holder, g.Lab.Nodes[2-holder.ID], g.Settings[0].Addresses))
	res := g.result("node death", cost.died, holder, cost.report)
	res.Answered = cost.answering
	return res, g.reboot(holder)
}
