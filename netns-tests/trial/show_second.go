package trial

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// secondKeepvips are what somebody may start beside a running keepvip, in the same network namespace: on the holder and on a backup.
func secondKeepvips() []Case {
	var list []Case
	for _, interval := range []time.Duration{100 * time.Millisecond, 10 * time.Millisecond} {
		for _, s := range []struct {
			name  string
			begin func(n *lab.Node) (*lab.Process, error)
		}{
			{"another socket", func(n *lab.Node) (*lab.Process, error) {
				k := Keepvip{Args: []string{"--socket", n.Path("run/other.sock"), "--state-dir", n.Path("other")}}
				return k.Run(n, "--vip", lab.VIP4.String(), "--vip", lab.VIP6.String(), "--check", "none")
			}},
			{"cleanup", func(n *lab.Node) (*lab.Process, error) {
				p, _, err := Keepvip{}.Command(n, "cleanup", "--socket", n.Path("run/other.sock"))
				return p, err
			}},
		} {
			list = append(list, Case{
				Name: fmt.Sprintf("%s, %v", s.name, interval),
				Run:  func(host *lab.Host, times int) (Findings, error) { return besides(host, interval, times, s.begin) },
			})
		}
	}
	return list
}

// besides begins the second one on every node, so many times, and watches what becomes of the first.
func besides(host *lab.Host, interval time.Duration, times int, begin func(*lab.Node) (*lab.Process, error)) (Findings, error) {
	g, err := Open(host, Config{Addresses: []netip.Addr{lab.VIP4, lab.VIP6}, Interval: interval})
	if err != nil {
		return nil, err
	}
	defer g.Close()
	var two, outage time.Duration
	accepted, moved := 0, 0
	for range times {
		if _, err := g.Settle(); err != nil {
			return nil, err
		}
		m, err := g.watch("second", lab.MeasureConfig{})
		if err != nil {
			return nil, err
		}
		from := g.Lab.Now()
		refused, err := refusedEverywhere(g, begin)
		time.Sleep(12 * interval)
		r := m.Stop()
		if err != nil {
			return nil, err
		}
		accepted += len(g.Lab.Nodes) - refused
		two, outage = max(two, r.Two()), max(outage, r.LongestAfter(from))
		binds := 0
		for _, b := range r.Binds {
			binds += count(b.Added && b.At >= from && slices.Contains(g.Addresses, b.Address))
		}
		moved += max(binds-2*len(g.Addresses)*r.BySilence(from), 0) // there, and perhaps back
	}
	repairs := 0
	for _, n := range g.Lab.Nodes {
		s, err := fenceStatus(n)
		if err != nil {
			return nil, err
		}
		repairs += s.Repairs + count(!s.Standing)
	}
	return Findings{
		took("two answered for", two, 0), told("longest outage", outage), none("not refused", accepted),
		none("addresses bound anew, though the holder advertised", moved),
		none("fences mended", repairs),
	}, nil
}

// refusedEverywhere begins the second one on all nodes at once, since it waits for one that is just ending, and counts refusals.
func refusedEverywhere(g *Group, begin func(*lab.Node) (*lab.Process, error)) (refused int, err error) {
	var begun []*lab.Process
	for _, n := range g.Lab.Nodes {
		p, err := begin(n)
		if err != nil {
			return 0, err
		}
		begun = append(begun, p)
	}
	for _, p := range begun {
		code, err := p.Wait(10 * time.Second)
		if err != nil {
			return refused, fmt.Errorf("%w\n%s", err, p.Log())
		}
		refused += count(code == 1)
	}
	return refused, nil
}
