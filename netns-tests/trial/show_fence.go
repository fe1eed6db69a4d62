package trial

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// foreignTable lists a large table of somebody else while nothing runs, and while
// keepvip advertises every 10 ms.
func foreignTable(g *Group, full bool) Findings {
	elements, times := 40000, sized(full, 21, 5)
	n := g.Lab.Nodes[0]
	var b strings.Builder
	b.WriteString("table inet foreign {\n set many {\n type ipv4_addr\n elements = { ")
	for i := range elements {
		fmt.Fprintf(&b, "10.200.%d.%d, ", i>>8, i&0xff)
	}
	b.WriteString("}\n }\n}\n")
	try.Get(n.RunInput(b.String(), "nft", "-f", "-"))
	quiet := try.Get(listing(n, times))
	try.Do(g.Start(n))
	try.Get(g.Settle())
	busy := try.Get(listing(n, times))
	return Findings{
		told("quiet", quiet), told("with keepvip", busy),
		{What: "ratio", Got: float64(busy) / float64(quiet), Limit: 1.5, Unit: "x"},
	}
}

// listing is the median time of `nft list table` for the large table.
func listing(n *lab.Node, times int) (_ time.Duration, err error) {
	defer try.Catch(&err)
	var spans []time.Duration
	for range times {
		began := time.Now()
		try.Get(n.Run("sh", "-c", "nft list table inet foreign > /dev/null"))
		spans = append(spans, time.Since(began))
	}
	slices.Sort(spans)
	return spans[len(spans)/2], nil
}

// guardEnd is when nothing is left of a lease: the address's lifetime, and what
// the guard stands beyond it.
const guardEnd = 8 * time.Second

// noLockOut kills keepvip for good, waits for the guard's end, and gives the
// address to the node by hand, then by keepalived.
func noLockOut(g *Group, _ bool) (out Findings) {
	n := g.Lab.Nodes[0]
	try.Do(g.Daemon(n).Kill9())
	time.Sleep(guardEnd)
	for _, a := range g.Addresses {
		out = append(out, none(a.String()+" left behind", count(n.Holds(a))))
		try.Do(n.AddAddress(prefix(a)))
		out = append(out, none(a.String()+" by hand does not answer", count(!g.Lab.Reaches(g.Lab.Client.Namespace, a, 3*time.Second))))
		try.Do(n.RemoveAddress(prefix(a)))
		s := g.Settings[0]
		s.Addresses = []netip.Addr{a}
		p := try.Get(Keepalived{}.Start(n, s))
		if err := within(10*time.Second, "keepalived holds "+a.String(), func() bool { return n.Holds(a) }); err != nil {
			try.Do(fmt.Errorf("%w\n%s", err, p.Log()))
		}
		out = append(out, none(a.String()+" by keepalived does not answer", count(!g.Lab.Reaches(g.Lab.Client.Namespace, a, 3*time.Second))))
		try.Get(p.Terminate(5 * time.Second))
	}
	return out
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// fenceDestroyed takes the fence away in three ways while keepvip is Active, on a kernel where others can.
func fenceDestroyed(host *lab.Host, full bool) (out Findings, err error) {
	defer try.Catch(&err)
	times := sized(full, 10, 2)
	unowned := try.Get(Unowned())
	g := try.Get(Open(host, Config{Lab: lab.Config{Nodes: 1}, Product: Keepvip{Path: unowned}, Addresses: []netip.Addr{lab.VIP4, lab.VIP6}}))
	defer g.Close()
	n := g.Lab.Nodes[0]

	for _, d := range []struct {
		name string
		do   func(table string) error
	}{
		{"ruleset flushed", func(string) error { _, err := n.Run("nft", "flush", "ruleset"); return err }},
		{"table deleted", func(t string) error { _, err := n.Run("nft", "delete", "table", "netdev", t); return err }},
		{"link recreated", func(string) error {
			return sequence(func() error { return n.DeleteNIC(0) }, func() error { return n.CreateNIC(0) })
		}},
	} {
		var worst time.Duration
		unsaid := 0
		for i := range times {
			time.Sleep(time.Duration(i) * 150 * time.Millisecond) // at any moment between two looks
			span, said, err := destroyed(g, n, d.do, d.name != "link recreated" && i%2 == 0)
			if err != nil {
				return out, fmt.Errorf("%s: %w", d.name, err)
			}
			worst = max(worst, span)
			unsaid += count(!said)
		}
		out = append(out, took(d.name+": rebuilt after", worst, time.Second), none(d.name+": status did not say so", unsaid))
		try.Get(g.Settle())
	}
	return out, nil
}

// destroyed does it once. To ask for the status makes keepvip look at once, so it
// is asked only every other time.
func destroyed(g *Group, n *lab.Node, do func(string) error, ask bool) (_ time.Duration, _ bool, err error) {
	defer g.catch(&err)
	before, err := fenceTable(n)
	if err != nil || before == "" {
		return 0, false, fmt.Errorf("no fence before: %w", err)
	}
	repairs := try.Get(fenceStatus(n))
	try.Do(do(before))
	began, said := time.Now(), true
	if ask {
		s := try.Get(fenceStatus(n))
		said = !s.Standing || s.Repairs > repairs.Repairs
	}
	try.Do(within(5*time.Second, "the fence is there again", func() bool {
		t, err := fenceTable(n)
		return err == nil && t != ""
	}))
	span := time.Since(began)
	try.Do(within(5*time.Second, "the fence stands", func() bool { s, err := fenceStatus(n); return err == nil && s.Standing }))
	_, err = g.Settle()
	return span, said, err
}

// fenceTable is the name of keepvip's table on the node, "" if there is none.
func fenceTable(n *lab.Node) (_ string, err error) {
	defer try.Catch(&err)
	for line := range strings.Lines(try.Get(n.Run("nft", "list", "tables", "netdev"))) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "table netdev keepvip-"); ok {
			return "keepvip-" + name, nil
		}
	}
	return "", nil
}

func fenceStatus(n *lab.Node) (FenceStatus, error) {
	s, err := Keepvip{}.Status(n)
	if err != nil || len(s.VIPs) == 0 {
		return FenceStatus{}, err
	}
	return s.VIPs[0].Fence, nil
}
