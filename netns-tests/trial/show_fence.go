package trial

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// foreignTable lists a large table of somebody else while nothing runs, and while
// keepvip advertises every 10 ms.
func foreignTable(host *lab.Host, full bool) (Findings, error) {
	elements, times := 40000, sized(full, 21, 5)
	g, err := Prepare(host, Config{Lab: lab.Config{Nodes: 1}, Interval: 10 * time.Millisecond})
	if err != nil {
		return nil, err
	}
	defer g.Close()
	n := g.Lab.Nodes[0]
	var b strings.Builder
	b.WriteString("table inet foreign {\n set many {\n type ipv4_addr\n elements = { ")
	for i := range elements {
		fmt.Fprintf(&b, "10.200.%d.%d, ", i>>8, i&0xff)
	}
	b.WriteString("}\n }\n}\n")
	if _, err := n.RunInput(b.String(), "nft", "-f", "-"); err != nil {
		return nil, err
	}
	quiet, err := listing(n, times)
	if err != nil {
		return nil, err
	}
	if err := g.Start(n); err != nil {
		return nil, err
	}
	if _, err := g.Settle(); err != nil {
		return nil, err
	}
	busy, err := listing(n, times)
	if err != nil {
		return nil, err
	}
	return Findings{
		told("quiet", quiet), told("with keepvip", busy),
		{What: "ratio", Got: float64(busy) / float64(quiet), Limit: 1.5, Unit: "x"},
	}, nil
}

// listing is the median time of `nft list table` for the large table.
func listing(n *lab.Node, times int) (time.Duration, error) {
	var spans []time.Duration
	for range times {
		began := time.Now()
		if _, err := n.Run("sh", "-c", "nft list table inet foreign > /dev/null"); err != nil {
			return 0, err
		}
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
func noLockOut(host *lab.Host, _ bool) (Findings, error) {
	addrs := []netip.Addr{lab.VIP4, lab.VIP6}
	g, err := Open(host, Config{Lab: lab.Config{Nodes: 1}, Addresses: addrs})
	if err != nil {
		return nil, err
	}
	defer g.Close()
	n := g.Lab.Nodes[0]
	if err := g.Daemon(n).Kill9(); err != nil {
		return nil, err
	}
	time.Sleep(guardEnd)
	var out Findings
	for _, a := range addrs {
		out = append(out, none(a.String()+" left behind", count(n.Holds(a))))
		if err := n.AddAddress(prefix(a)); err != nil {
			return nil, err
		}
		out = append(out, none(a.String()+" by hand does not answer", count(!g.Lab.Reaches(g.Lab.Client.Namespace, a, 3*time.Second))))
		if err := n.RemoveAddress(prefix(a)); err != nil {
			return nil, err
		}
		s := g.Settings[0]
		s.Addresses = []netip.Addr{a}
		p, err := Keepalived{}.Start(n, s)
		if err != nil {
			return nil, err
		}
		_, err = until(10*time.Second, "keepalived holds "+a.String(), func() bool { return n.Holds(a) })
		if err != nil {
			return nil, fmt.Errorf("%w\n%s", err, p.Log())
		}
		out = append(out, none(a.String()+" by keepalived does not answer", count(!g.Lab.Reaches(g.Lab.Client.Namespace, a, 3*time.Second))))
		if _, err := p.Terminate(5 * time.Second); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// fenceDestroyed takes the fence away in three ways while keepvip is Active, on a kernel where others can.
func fenceDestroyed(host *lab.Host, full bool) (Findings, error) {
	times := sized(full, 10, 2)
	unowned, err := Unowned()
	if err != nil {
		return nil, err
	}
	g, err := Open(host, Config{Lab: lab.Config{Nodes: 1}, Product: Keepvip{Path: unowned}, Addresses: []netip.Addr{lab.VIP4, lab.VIP6}})
	if err != nil {
		return nil, err
	}
	defer g.Close()
	n := g.Lab.Nodes[0]
	var out Findings
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
		if _, err := g.Settle(); err != nil {
			return out, err
		}
	}
	return out, nil
}

// destroyed does it once. To ask for the status makes keepvip look at once, so it
// is asked only every other time.
func destroyed(g *Group, n *lab.Node, do func(string) error, ask bool) (time.Duration, bool, error) {
	before, err := fenceTable(n)
	if err != nil || before == "" {
		return 0, false, fmt.Errorf("no fence before: %w", err)
	}
	repairs, err := fenceStatus(n)
	if err != nil {
		return 0, false, err
	}
	if err := do(before); err != nil {
		return 0, false, err
	}
	began, said := time.Now(), true
	if ask {
		s, err := fenceStatus(n)
		if err != nil {
			return 0, false, err
		}
		said = !s.Standing || s.Repairs > repairs.Repairs
	}
	_, err = until(5*time.Second, "the fence is there again", func() bool {
		t, err := fenceTable(n)
		return err == nil && t != ""
	})
	if err != nil {
		return 0, said, fmt.Errorf("%w\n%s", err, g.Logs())
	}
	span := time.Since(began)
	if _, err := until(5*time.Second, "the fence stands", func() bool { s, err := fenceStatus(n); return err == nil && s.Standing }); err != nil {
		return span, said, err
	}
	_, err = g.Settle()
	return span, said, err
}

// fenceTable is the name of keepvip's table on the node, "" if there is none.
func fenceTable(n *lab.Node) (string, error) {
	out, err := n.Run("nft", "list", "tables", "netdev")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(out) {
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
