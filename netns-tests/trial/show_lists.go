package trial

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// listed is an entry whose election is by unicast, with what the file of each node gives as its peers.
type listed struct {
	host  int         // the last part of its addresses
	peers map[int]int // by node: the numbers of the peers, in the order of the digits
}

func (e listed) addresses() [2]netip.Addr {
	return [2]netip.Addr{netip.MustParseAddr(fmt.Sprintf("10.77.0.%d", e.host)), netip.MustParseAddr(fmt.Sprintf("fd77::%d", e.host))}
}

// lists are entries of one link with different peers, and with the same in another order; after a reload the order is another one.
func lists(reloaded bool) []listed {
	if reloaded {
		return []listed{{101, map[int]int{1: 21, 2: 12}}, {102, map[int]int{1: 31, 3: 31}}, {103, map[int]int{1: 12, 2: 21}}, {104, map[int]int{2: 23, 3: 23}}}
	}
	return []listed{{101, map[int]int{1: 12, 2: 12}}, {102, map[int]int{1: 13, 3: 31}}, {103, map[int]int{1: 21, 2: 21}}, {104, map[int]int{2: 23, 3: 32}}}
}

// unicastLists are groups with different peers that share a link.
func unicastLists() []Case {
	var list []Case
	for _, interval := range []time.Duration{100 * time.Millisecond, 10 * time.Millisecond} {
		list = append(list, Case{Name: fmt.Sprint(interval), Run: func(host *lab.Host, times int) (Findings, error) {
			var two, reloaded time.Duration
			moved := 0
			for range times {
				s, err := listsOnce(host, interval)
				if err != nil {
					return nil, err
				}
				two, reloaded, moved = max(two, s.two), max(reloaded, s.reloaded), moved+s.moved
			}
			return Findings{
				took("two answered for", two, twoOfAll), told("two answered from the reload on for", reloaded),
				{What: "entries moved by the reload", Got: float64(moved), Limit: -1, Unit: "times"},
			}, nil
		}})
	}
	return list
}

// listsSeen is what one run has shown: the longest times with two nodes answering for an address, and how many entries the reload moved.
type listsSeen struct {
	two, reloaded time.Duration
	moved         int
}

// listsOnce starts the nodes, and then gives them the same peers in another order.
func listsOnce(host *lab.Host, interval time.Duration) (seen listsSeen, err error) {
	g, err := Prepare(host, Config{Interval: interval})
	if err != nil {
		return seen, err
	}
	defer g.Close()
	entries := lists(false)
	cfg := lab.MeasureConfig{Interval: 50 * time.Millisecond} // who answers is asked of the nodes
	for _, e := range entries {
		a := e.addresses()
		cfg.Targets = append(cfg.Targets, a[:]...)
	}
	m, err := g.Lab.Measure(cfg)
	if err != nil {
		return seen, err
	}
	for _, n := range g.Lab.Nodes {
		path, err := n.WriteFile("keepvip.yaml", fileOfLists(entries, n, interval), 0o644)
		if err != nil {
			return seen, err
		}
		if g.Daemons[n.ID-1], err = (Keepvip{}).Run(n, "--config", path); err != nil {
			return seen, err
		}
	}
	before, err := settledLists(g, entries)
	if err != nil {
		return seen, err
	}
	at := g.Lab.Now()
	for _, n := range g.Lab.Nodes {
		if _, err := n.WriteFile("keepvip.yaml", fileOfLists(lists(true), n, interval), 0o644); err != nil {
			return seen, err
		}
		if err := g.Daemon(n).Signal(unix.SIGHUP); err != nil {
			return seen, err
		}
	}
	time.Sleep(max(12*interval, time.Second))
	after, err := settledLists(g, entries)
	r := m.Stop()
	if err != nil {
		return seen, err
	}
	seen.two, seen.reloaded = r.Two(), r.TwoIn(at, r.Ended)
	for i := range entries {
		seen.moved += count(!slices.Equal(before[i], after[i]))
	}
	return seen, nil
}

// settledLists waits until one node has held each entry alone for a second, and returns which.
func settledLists(g *Group, entries []listed) ([][]int, error) {
	var ids [][]int
	since := time.Now()
	_, err := until(SettleLimit, "each entry has one holder", func() bool {
		now := holdersOfLists(g, entries)
		if !reflect.DeepEqual(now, ids) || slices.ContainsFunc(now, func(of []int) bool { return len(of) != 1 }) {
			ids, since = now, time.Now()
		}
		return time.Since(since) >= time.Second
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %v\n%s", err, ids, g.Logs())
	}
	return ids, nil
}

func fileOfLists(entries []listed, n *lab.Node, interval time.Duration) string {
	var b strings.Builder
	b.WriteString("apiVersion: keepvip/v1\nkind: Config\nvips:\n")
	for _, e := range entries {
		digits, ok := e.peers[n.ID]
		if !ok {
			continue
		}
		var peers []string
		for _, d := range fmt.Sprint(digits) {
			peers = append(peers, fmt.Sprintf("10.77.0.1%c", d))
		}
		a := e.addresses()
		fmt.Fprintf(&b, "- name: e%d\n  addresses: ['%s', '%s']\n  interface: %s\n  check: none\n  vrrp: {peers: [%s], advertisementInterval: %s}\n",
			e.host, a[0], a[1], n.NICs[0].Name, strings.Join(peers, ", "), interval)
	}
	return b.String()
}

// holdersOfLists are the numbers of the nodes that hold each entry, whole or in part.
func holdersOfLists(g *Group, entries []listed) [][]int {
	ids := make([][]int, len(entries))
	for i, e := range entries {
		for _, n := range g.Lab.Nodes {
			if a := e.addresses(); n.Holds(a[0]) || n.Holds(a[1]) {
				ids[i] = append(ids[i], n.ID)
			}
		}
	}
	return ids
}
