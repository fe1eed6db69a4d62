package trial

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// costs are labs side by side: one with its load spread, and the same without. Both have the rules of kube-proxy, and so connection
// tracking, as a Kubernetes node has. What is compared is measured in short rounds by turns, so that what else the machine does is the same for all.
type costs struct {
	with, without *Spreading
	lines         []*line
}

// line is a connection whose way is known.
type line struct {
	name string
	*lab.Transfer
}

// The ways of a packet: to the holder, which spreads nothing; to the member that is the receiver itself; and to another member.
const (
	plainLine = iota
	ownLine
	forwardedLine
)

// ofCosts is a show that measures one of these.
func ofCosts(name string, measure func(*costs) (Findings, error)) Show {
	return measured(name, func(host *lab.Host, _ bool) (_ Findings, err error) {
		defer try.Catch(&err)
		c := try.Get(openCosts(host))
		defer c.Close()
		return measure(c)
	})
}

func openCosts(host *lab.Host) (c *costs, err error) {
	c = &costs{}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	for _, s := range []struct {
		to  **Spreading
		off bool
	}{{&c.without, true}, {&c.with, false}} {
		if *s.to, err = openSpread(host, SpreadConfig{Product: WithSpread{Off: s.off}, V4: true}, tracked); err != nil {
			return c, err
		}
		at := lab.GreeterConfig{Port: downloadTarget}
		if s.off {
			at = lab.GreeterConfig{Port: DownloadPort, Everywhere: true}
		}
		for _, n := range (*s.to).Lab.Nodes {
			if _, err = n.StartTransfers(at); err != nil {
				return c, err
			}
		}
	}
	holder, err := c.with.SettleAny()
	if err != nil {
		return c, err
	}
	for _, l := range []struct {
		name  string
		s     *Spreading
		wants func(node string) bool
	}{
		{"without spread", c.without, func(string) bool { return true }},
		{"own slot", c.with, func(node string) bool { return node == holder.Label }},
		{"another member", c.with, func(node string) bool { return node != holder.Label }},
	} {
		t, err := l.s.transfer(l.wants)
		if err != nil {
			return c, fmt.Errorf("trial: %s: %w\n%s", l.name, err, l.s.Logs())
		}
		c.lines = append(c.lines, &line{l.name, t})
	}
	return c, nil
}

// tracked gives a node the rules of kube-proxy.
func tracked(n *lab.Node) error { return try.Err(n.RunInput(kubeProxyRules, "nft", "-f", "-")) }

// transfer connects until a node serves that is wanted.
func (s *Spreading) transfer(wants func(node string) bool) (_ *lab.Transfer, err error) {
	defer try.Catch(&err)
	for range 200 {
		t := try.Get(s.Lab.OpenTransfer(s.Lab.Client.Namespace, netip.AddrPortFrom(lab.VIP4, DownloadPort)))
		if wants(t.Node) {
			return t, nil
		}
		t.Close()
	}
	return nil, errors.New("none of 200 connections came to the node that was wanted")
}

// Close removes both labs.
func (c *costs) Close() {
	for _, l := range c.lines {
		l.Close()
	}
	for _, s := range []*Spreading{c.with, c.without} {
		if s != nil {
			s.Close()
		}
	}
}

// forwards is by which expression of nftables packets go on to another member.
func (c *costs) forwards() (string, error) {
	rules, err := c.with.Holders()[0].Run("nft", "list", "table", "netdev", "keepvip-spread-apiserver")
	if err == nil && strings.Contains(rules, "fwd") {
		return "fwd", nil
	}
	return "dup", err
}

// rounds measures all lines by turns, and returns the figures by line and round.
func (c *costs) rounds(count int, measure func(l *line) (float64, error)) ([][]float64, error) {
	all := make([][]float64, len(c.lines))
	for i := range all {
		all[i] = make([]float64, count)
	}
	for r := range count {
		for i := range c.lines {
			i = (i + r) % len(c.lines) // each comes first as often as the others
			got, err := measure(c.lines[i])
			if err != nil {
				return nil, fmt.Errorf("trial: %s: %w", c.lines[i].name, err)
			}
			all[i][r] = got
		}
	}
	return all, nil
}

// more is by how much one line is above another: the median of all rounds.
func more(line, than []float64) float64 {
	apart := slices.Clone(line)
	for i := range apart {
		apart[i] -= than[i]
	}
	return quantile(apart, 0.5)
}

func quantile(list []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// latency compares round trips of 16 octets on connections that are established.
func latency(c *costs) (_ Findings, err error) {
	defer try.Catch(&err)
	how := try.Get(c.forwards())
	limit := map[string]float64{"fwd": 6, "dup": 10}[how]
	var late []float64 // of the same rounds, the 99th percentile
	medians := try.Get(c.rounds(90, func(l *line) (_ float64, err error) {
		defer try.Catch(&err)
		took := try.Get(l.RoundTrips(200))
		var us []float64
		for _, d := range took {
			us = append(us, float64(d)/float64(time.Microsecond))
		}
		late = append(late, quantile(us, 0.99))
		return quantile(us, 0.5), nil
	}))
	var out Findings
	us := func(what string, got, limit float64) {
		out = append(out, Measured{What: what, Got: got, Limit: limit, Unit: "us"})
	}
	for i, l := range c.lines {
		us(l.name+": p50", quantile(medians[i], 0.5), -1)
		us("p99", quantile(c.of(late, i), 0.5), -1)
	}
	us("p50: the way to another member ("+how+") adds", more(medians[forwardedLine], medians[ownLine]), limit)
	us("the rules of a member add", more(medians[ownLine], medians[plainLine]), -1)
	us("both", more(medians[forwardedLine], medians[plainLine]), -1)
	us("p99: both add", more(c.of(late, forwardedLine), c.of(late, plainLine)), -1)
	return out, nil
}

// of are the figures of one line, of figures in the order in which they were measured.
func (c *costs) of(measured []float64, line int) (of []float64) {
	for n, got := range measured {
		if round := n / len(c.lines); (n+round)%len(c.lines) == line {
			of = append(of, got)
		}
	}
	return of
}

// transferred is how much a round moves, in octets: a quarter of a second of it keeps no daemon from running.
const transferred = 64 << 20

// processor compares what a gigabit costs in processor time: that of the two threads that send and receive, in which the kernel carries
// packets through all hosts of the lab, and that of the kernel's threads for what it puts off.
func processor(c *costs) (_ Findings, err error) {
	defer try.Catch(&err)
	const gigabits = float64(transferred) * 8 / 1e9
	var out Findings
	for _, way := range []struct {
		name     string
		transfer func(*lab.Transfer, int) (time.Duration, error)
		limit    float64
	}{{"down", (*lab.Transfer).Down, 30}, {"up", (*lab.Transfer).Up, -1}} {
		all := try.Get(c.rounds(40, func(l *line) (float64, error) {
			took, err := way.transfer(l.Transfer, transferred)
			return inMilliseconds(took) / gigabits, err
		}))
		per := func(what string, got, limit float64) {
			out = append(out, Measured{What: what, Got: got, Limit: limit, Unit: "core-ms/Gbit"})
		}
		for i, l := range c.lines {
			per(way.name+", "+l.name, quantile(all[i], 0.5), -1)
		}
		per("own slot adds", more(all[ownLine], all[plainLine]), way.limit)
		per("another member adds", more(all[forwardedLine], all[plainLine]), way.limit)
	}
	return out, nil
}

// spreadIdle measures what a handover does to connections on which nobody says anything: all go on, or by masquerade all clients are told.
func spreadIdle(product WithSpread, full, brief int) func(*lab.Host, bool) (Findings, error) {
	return func(host *lab.Host, all bool) (Findings, error) {
		return spreadIdleOnce(host, product, sized(all, full, brief))
	}
}

// toldWait is for how long is waited at least until clients are told, by a machine that has them all.
const toldWait = 5 * time.Second

func spreadIdleOnce(host *lab.Host, product WithSpread, count int) (_ Findings, err error) {
	defer try.Catch(&err)
	s := try.Get(OpenSpread(host, SpreadConfig{V4: true, Product: product}))
	defer s.end(&err)
	held := try.Get(s.holdIdle(count))
	name := fmt.Sprintf("%d connections", count)
	x := try.Get(s.move(SpreadEvent{Name: "handover"}))
	before := s.Daemon(x.Holder).UsedInAll()
	err = x.passesOn()
	time.Sleep(max(toldWait, 10*perConnection*time.Duration(count)))
	cpu := s.Daemon(x.Holder).UsedInAll() - before
	x.Measurement.Stop()
	try.Do(err)
	var ends lab.IdleReport
	for _, h := range held {
		ends = append(ends, try.Get(h.Stop())...)
	}
	if product.Masquerade {
		return Findings{
			none(name+": not told", len(ends)-ends.Told()), took("the last was told after", ends.Last()-x.At, max(time.Second, time.Duration(count)*perConnection)),
			told("processor time of keepvip", cpu),
		}, nil
	}
	return Findings{none(name+": lost", ends.Told()), told("processor time of keepvip", cpu)}, nil
}

// holdIdle has the clients hold so many connections, half of them each, and returns when all are open.
func (s *Spreading) holdIdle(count int) (held []*lab.IdleConns, err error) {
	defer try.Catch(&err)
	for _, n := range s.Lab.Nodes {
		try.Get(n.StartIdleServers(downloadTarget, count))
	}
	clients := s.clients()
	for _, from := range clients {
		try.Do(from.Sysctl("net/ipv4/ip_local_port_range", "1024 65535"))
		held = append(held, try.Get(s.Lab.HoldIdle(from, netip.AddrPortFrom(s.Addresses[0], DownloadPort), count/len(clients), 0)))
	}
	return held, nil
}
