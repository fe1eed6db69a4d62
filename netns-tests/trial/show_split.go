package trial

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// splitCase is a way in which nodes hear each other's messages and not each other's advertisements.
type splitCase struct {
	name      string
	interval  time.Duration
	addresses []netip.Addr
	args      func(l *lab.Lab, n *lab.Node) []string // added to the node's flags
	filter    func(l *lab.Lab) error
	apart     time.Duration // between the starts of two nodes
	late      bool          // the filter comes in the middle of a handover
	cause     string        // what every node says that hears of a holder
}

// protocol112 is VRRP over both families.
const protocol112 = "meta l4proto 112"

// noVRRP drops every advertisement.
func noVRRP(l *lab.Lab) error {
	for _, n := range l.Nodes {
		if err := n.Lose(protocol112, 100, lab.Both); err != nil {
			return err
		}
	}
	return nil
}

// noVRRPOf drops those of the first node, or those to it.
func noVRRPOf(d lab.Direction) func(*lab.Lab) error {
	return func(l *lab.Lab) error { return l.Nodes[0].Lose(protocol112, 100, d) }
}

func peersOf(l *lab.Lab, _ *lab.Node) (args []string) {
	for _, n := range l.Nodes {
		args = append(args, "--peer", n.Address.String())
	}
	return args
}

// keyOnFirst gives the key to the first node alone.
func keyOnFirst(_ *lab.Lab, n *lab.Node) []string {
	if n.ID != 1 {
		return nil
	}
	path, err := n.WriteFile("key", strings.Repeat("0123456789abcdef", 4)+"\n", 0o600)
	if err != nil {
		return []string{"--key-file", "/nonexistent"} // keepvip says so
	}
	return []string{"--key-file", path}
}

func ownVRID(_ *lab.Lab, n *lab.Node) []string { return []string{"--vrid", fmt.Sprint(60 + n.ID)} }

const (
	filtered = "protocol 112 is filtered"
	twoOfAll = 50 * time.Millisecond
)

// splitCases are all of them; the first few are enough to see that it works.
func splitCases() []splitCase {
	var list []splitCase
	add := func(c splitCase) { list = append(list, c) }
	both := []netip.Addr{lab.VIP4, lab.VIP6}
	add(splitCase{name: "nothing arrives", filter: noVRRP, cause: filtered, addresses: both})
	add(splitCase{name: "a key on one node", args: keyOnFirst, cause: "key"})
	add(splitCase{name: "in the middle of a handover", filter: noVRRP, late: true, cause: filtered})
	for _, interval := range []time.Duration{100 * time.Millisecond, 10 * time.Millisecond} {
		for _, apart := range []time.Duration{0, 5 * time.Second} {
			for _, c := range []splitCase{
				{name: "nothing arrives", filter: noVRRP, cause: filtered, addresses: both},
				{name: "n1 is not heard", filter: noVRRPOf(lab.Out), cause: filtered},
				{name: "n1 hears nothing", filter: noVRRPOf(lab.In), cause: filtered},
				{name: "unicast, nothing arrives", filter: noVRRP, args: peersOf, cause: filtered},
				{name: "VRIDs differ", args: ownVRID, cause: "VRID"},
				{name: "a key on one node", args: keyOnFirst, cause: "key"},
			} {
				c.interval, c.apart = interval, apart
				add(c)
			}
		}
		for _, filter := range []func(*lab.Lab) error{noVRRP, noVRRPOf(lab.Out), noVRRPOf(lab.In)} {
			add(splitCase{name: "in the middle of a handover", filter: filter, late: true, interval: interval, addresses: both})
		}
	}
	return list
}

// splitShort is how many cases are enough to see that it works.
const splitShort = 3

// split lets every case happen, as often as the promise says: at most one node answers, and all others say why they do not.
func split(host *lab.Host, full bool) (Findings, error) {
	cases, times := splitCases(), 20
	if !full {
		cases, times = cases[:splitShort], 1
	} else {
		cases = cases[splitShort:]
	}
	found, errs := make([]Findings, len(cases)), make([]error, len(cases))
	var wg sync.WaitGroup
	for i, c := range cases {
		one := func() {
			if found[i], errs[i] = c.run(host, times); errs[i] != nil {
				errs[i] = fmt.Errorf("trial: split: %s: %w", c.title(), errs[i])
			}
		}
		if full { // figures are measured one after the other
			one()
		} else {
			wg.Go(one)
		}
	}
	wg.Wait()
	return slices.Concat(found...), errors.Join(errs...)
}

func (c splitCase) title() string {
	return fmt.Sprintf("%s, %v, starts %v apart", c.name, c.every(), c.apart)
}

func (c splitCase) every() time.Duration {
	if c.interval == 0 {
		return 100 * time.Millisecond
	}
	return c.interval
}

func (c splitCase) run(host *lab.Host, times int) (Findings, error) {
	var longest time.Duration
	several, mute := 0, 0
	for range times {
		two, holders, silent, err := c.once(host)
		if err != nil {
			return nil, err
		}
		longest = max(longest, two)
		if holders != 1 {
			several++
		}
		mute += silent
	}
	return Findings{
		took(c.title()+": two answered for", longest, twoOfAll),
		none("not one holder", several),
		none("nodes that do not say SPLIT", mute),
	}, nil
}

// once starts the nodes, and returns for how long two answered, how many hold the address at the end, and how many nodes
// that hear of a holder by its messages alone do not say so.
func (c splitCase) once(host *lab.Host) (two time.Duration, holders, silent int, err error) {
	g, err := Prepare(host, Config{Interval: c.every(), Addresses: c.addresses})
	if err != nil {
		return 0, 0, 0, err
	}
	defer g.Close()
	m, err := g.watch(c.title(), lab.MeasureConfig{})
	if err != nil {
		return 0, 0, 0, err
	}
	err = c.happen(g)
	two = m.Stop().Direct.Two()
	if err != nil {
		return two, 0, 0, fmt.Errorf("%w\n%s", err, g.Logs())
	}
	// What nodes say is a moment behind what they do.
	for end := time.Now().Add(3 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if silent, err = c.silent(g); silent == 0 || err != nil || time.Now().After(end) {
			return two, len(g.Holders()), silent, err
		}
	}
}

func (c splitCase) happen(g *Group) error {
	if c.filter != nil && !c.late {
		if err := c.filter(g.Lab); err != nil {
			return err
		}
	}
	for i, n := range g.Lab.Nodes {
		if i > 0 {
			time.Sleep(c.apart)
		}
		var args []string
		if c.args != nil {
			args = c.args(g.Lab, n)
		}
		p, err := Keepvip{Args: args}.Start(n, g.Settings[n.ID-1])
		if err != nil {
			return err
		}
		g.Daemons[n.ID-1] = p
	}
	if c.late {
		if err := c.handover(g); err != nil {
			return err
		}
	}
	time.Sleep(max(12*c.every(), 1500*time.Millisecond))
	return nil
}

// handover passes the address on, and filters while that is under way.
func (c splitCase) handover(g *Group) error {
	holder, err := g.Settle()
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		_, _, err := Keepvip{}.Command(holder, "handover", "--timeout", "5s", "--socket", Socket(holder))
		done <- err
	}()
	err = c.filter(g.Lab)
	return errors.Join(err, <-done)
}

// silent counts the nodes that hear the holder's messages alone, and do not say SPLIT and why.
func (c splitCase) silent(g *Group) (n int, err error) {
	if c.cause == "" {
		return 0, nil
	}
	said := false
	for _, node := range g.Lab.Nodes {
		s, err := Keepvip{}.Status(node)
		if err != nil {
			return 0, err
		}
		// A node that asks before its first bind hears the holder as a foreign host, and says so instead.
		said = said || len(s.VIPs[0].Conflicts) > 0
		for _, p := range s.VIPs[0].Splits {
			if said = true; !strings.Contains(p.Cause, c.cause) {
				n++
			}
		}
	}
	if holders := g.Holders(); !said && len(holders) == 1 && !strings.HasPrefix(c.name, "n1 ") {
		n++
	}
	return n, nil
}
