package trial

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
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
	oneWay    lab.Direction // of the first node, if no other loses advertisements
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

func unicastAndKeyOnFirst(l *lab.Lab, n *lab.Node) []string {
	return append(peersOf(l, n), keyOnFirst(l, n)...)
}

func ownVRID(_ *lab.Lab, n *lab.Node) []string { return []string{"--vrid", fmt.Sprint(60 + n.ID)} }

const (
	filtered = "protocol 112 is filtered"
	twoOfAll = 50 * time.Millisecond
)

// splits are all of them.
func splits() []Case {
	var list []Case
	add := func(c splitCase) { list = append(list, Case{Name: c.title(), Run: c.run}) }
	both, other := []netip.Addr{lab.VIP4, lab.VIP6}, []netip.Addr{lab.VIP6, lab.VIP4}
	for _, interval := range []time.Duration{100 * time.Millisecond, 10 * time.Millisecond} {
		for _, apart := range []time.Duration{0, 5 * time.Second} {
			for _, c := range []splitCase{
				{name: "nothing arrives", filter: noVRRP, cause: filtered},
				{name: "nothing arrives, elected by IPv6", filter: noVRRP, cause: filtered, addresses: other},
				{name: "n1 is not heard", filter: noVRRPOf(lab.Out), oneWay: lab.Out, cause: filtered},
				{name: "n1 hears nothing", filter: noVRRPOf(lab.In), oneWay: lab.In, cause: filtered},
				{name: "unicast, nothing arrives", filter: noVRRP, args: peersOf, cause: filtered},
				{name: "unicast, n1 is not heard", filter: noVRRPOf(lab.Out), oneWay: lab.Out, args: peersOf, cause: filtered},
				{name: "unicast, n1 hears nothing", filter: noVRRPOf(lab.In), oneWay: lab.In, args: peersOf, cause: filtered},
				{name: "VRIDs differ", args: ownVRID, cause: "VRID"},
				{name: "a key on one node", args: keyOnFirst, cause: "key"},
				{name: "unicast, a key on one node", args: unicastAndKeyOnFirst, cause: "key"},
			} {
				if c.interval, c.apart = interval, apart; c.addresses == nil {
					c.addresses = both
				}
				add(c)
			}
		}
		for _, c := range []splitCase{
			{name: "in the middle of a handover", filter: noVRRP},
			{name: "in the middle of a handover, n1 is not heard", filter: noVRRPOf(lab.Out), oneWay: lab.Out},
			{name: "in the middle of a handover, n1 hears nothing", filter: noVRRPOf(lab.In), oneWay: lab.In},
			{name: "in the middle of a handover, unicast", filter: noVRRP, args: peersOf},
		} {
			c.late, c.cause, c.interval, c.addresses = true, filtered, interval, both
			add(c)
		}
	}
	return list
}

func (c splitCase) title() string {
	return fmt.Sprintf("%s, %v, starts %v apart", c.name, c.interval, c.apart)
}

func (c splitCase) run(host *lab.Host, times int) (Findings, error) {
	var worst splitSeen
	several, mute := 0, 0
	for range times {
		seen, err := c.once(host)
		if err != nil {
			return nil, err
		}
		if seen.two >= worst.two {
			worst = seen
		}
		several += count(seen.holders != 1)
		mute += seen.silent
	}
	return Findings{
		took("two answered for", worst.two, twoOfAll),
		none("not one holder", several),
		none("nodes that do not say SPLIT", mute),
	}, nil
}

// splitSeen is what one run has shown.
type splitSeen struct {
	two     time.Duration // two answered
	holders int           // at the end
	silent  int           // nodes that hear of a holder by its messages alone and do not say so
}

// once starts the nodes in a lab of their own.
func (c splitCase) once(host *lab.Host) (seen splitSeen, err error) {
	g, err := Prepare(host, Config{Interval: c.interval, Addresses: c.addresses})
	if err != nil {
		return seen, err
	}
	defer g.Close()
	m, err := g.watch(c.title(), lab.MeasureConfig{Interval: 50 * time.Millisecond}) // who answers is asked of the nodes
	if err != nil {
		return seen, err
	}
	err = c.happen(g)
	r := m.Stop()
	seen.two = r.Two()
	if err != nil {
		return seen, fmt.Errorf("%w\n%s", err, g.Logs())
	}
	// What nodes say is a moment behind what they do.
	for end := time.Now().Add(3 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if seen.silent, err = c.silent(g); seen.silent == 0 || err != nil || time.Now().After(end) {
			seen.holders = len(g.Holders())
			return seen, err
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
	time.Sleep(max(12*c.interval, 1500*time.Millisecond))
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
	if holders := g.Holders(); !said && len(holders) == 1 && c.isMissed(holders[0]) {
		n++
	}
	return n, nil
}

// isMissed tells whether somebody hears none of the holder's advertisements.
func (c splitCase) isMissed(holder *lab.Node) bool {
	return c.oneWay == lab.Both || (c.oneWay == lab.Out) == (holder.ID == 1)
}
