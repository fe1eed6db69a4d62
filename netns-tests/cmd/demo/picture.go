package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/chart"
	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// picture is one failover to be drawn. Times count from the fault.
type picture struct {
	Title    string
	Nodes    int             // n1 to n<Nodes>, a row each
	Victim   int             // the node that dies
	Taker    int             // the node that answers afterwards, 0 if none does
	Adverts  []sign          // VRRP advertisements
	Bound    time.Duration   // when the taker bound the address
	Announce []time.Duration // when the taker announced it
	Gone     time.Duration   // the first probe without an answer
	Back     time.Duration   // the first probe with one again
	Lost     int             // probes in between, one each millisecond
}

// sign is something that a node sent.
type sign struct {
	Node int
	At   time.Duration
}

// The picture begins and ends so long before and after the fault.
const (
	drawnBefore = 350 * time.Millisecond
	drawnAfter  = 650 * time.Millisecond
)

// pictureOf takes what is drawn from the measurement of a node's death.
func pictureOf(res *trial.Result, nodes int) (picture, error) {
	s := res.Report.Stream("c1", lab.VIP4)
	if s == nil || res.Taker == 0 {
		return picture{}, fmt.Errorf("demo: draw: no node answered after the fault")
	}
	p := picture{
		Title: fmt.Sprintf("n%d holds %s, and dies", res.Victim, lab.VIP4),
		Nodes: nodes, Victim: res.Victim, Taker: res.Taker,
	}
	for _, o := range s.Outages {
		if o.End > res.FaultAt && o.Length > p.Back-p.Gone {
			p.Gone, p.Back, p.Lost = o.At-res.FaultAt, o.At-res.FaultAt+o.Length, o.Lost
		}
	}
	for _, a := range res.Report.Adverts {
		p.Adverts = append(p.Adverts, sign{a.Node, a.At - res.FaultAt})
	}
	for _, b := range res.Report.Binds {
		if b.Added && b.Node == res.Taker && b.At > res.FaultAt && b.Address == lab.VIP4 && p.Bound == 0 {
			p.Bound = b.At - res.FaultAt
		}
	}
	for _, a := range res.Report.AnnouncementsAfter(lab.VIP4, res.FaultAt) {
		p.Announce = append(p.Announce, a.At-res.FaultAt)
	}
	return p, nil
}

// Places in the picture, in its own units.
const (
	width, left, right = 960, 80, 24
	firstRow, rowGap   = 78, 46
	barHeight          = 20
)

// x is where an instant is drawn; what is beyond an end is drawn there.
func x(at time.Duration) float64 {
	share := float64(at+drawnBefore) / float64(drawnBefore+drawnAfter)
	return math.Round(10*(left+min(max(share, 0), 1)*(width-left-right))) / 10
}

func row(i int) int { return firstRow + i*rowGap }

// draw renders the picture as SVG: a row for each node, with its advertisements as strokes and a bar while it answers, and a row for the client.
func draw(p picture) string {
	var b strings.Builder
	height := row(p.Nodes) + barHeight + 106
	alt := fmt.Sprintf("%s. n%d answers after %s ms.", p.Title, p.Taker, lab.Milliseconds(p.Back))
	chart.Begin(&b, width, height, alt, p.Title)
	chart.Text(&b, "t h", 20, 30, "start", p.Title)
	chart.Text(&b, "s", width-right, 30, "end", "measured by make demo: three nodes and a client in network namespaces")
	scale(&b, row(p.Nodes)+barHeight+8)
	for n := 1; n <= p.Nodes; n++ {
		nodeRow(&b, p, n)
	}
	clientRow(&b, p)
	fault := x(0)
	fmt.Fprintf(&b, "<line class=\"f\" x1=\"%g\" x2=\"%g\" y1=\"56\" y2=\"%d\"/>\n", fault, fault, row(p.Nodes)+barHeight+8)
	chart.Text(&b, "s", fault, 50, "middle", fmt.Sprintf("n%d loses its power", p.Victim))
	legend(&b, p, row(p.Nodes)+barHeight+52)
	b.WriteString("</svg>\n")
	return b.String()
}

// nodeRow has a bar while the client is answered by the node, and a stroke for each advertisement.
func nodeRow(b *strings.Builder, p picture, n int) {
	y := row(n - 1)
	chart.Text(b, "t", 20, y+15, "start", fmt.Sprintf("n%d", n))
	bar(b, "o", -drawnBefore, drawnAfter, y)
	switch n {
	case p.Victim:
		bar(b, "g", -drawnBefore, p.Gone, y)
		chart.Text(b, "w", left+8, y+14, "start", "answers for the address")
	case p.Taker:
		bar(b, "g", p.Back, drawnAfter, y)
		chart.Text(b, "w", x(p.Back)+8, y+14, "start", "answers for the address")
	}
	for _, a := range p.Adverts {
		if a.Node == n && a.At >= -drawnBefore && a.At <= drawnAfter {
			fmt.Fprintf(b, "<line class=\"a\" x1=\"%g\" x2=\"%g\" y1=\"%d\" y2=\"%d\"/>\n", x(a.At), x(a.At), y-6, y-1)
		}
	}
}

func clientRow(b *strings.Builder, p picture) {
	y := row(p.Nodes)
	chart.Text(b, "t", 20, y+15, "start", "client")
	bar(b, "g", -drawnBefore, p.Gone, y)
	bar(b, "r", p.Gone, p.Back, y)
	bar(b, "g", p.Back, drawnAfter, y)
	chart.Text(b, "w", (x(p.Gone)+x(p.Back))/2, y+14, "middle", fmt.Sprintf("no answer for %s ms", lab.Milliseconds(p.Back-p.Gone)))
}

// scale has a line each 100 ms.
func scale(b *strings.Builder, y int) {
	for at := -300 * time.Millisecond; at <= drawnAfter; at += 100 * time.Millisecond {
		fmt.Fprintf(b, "<line class=\"l\" x1=\"%g\" x2=\"%g\" y1=\"64\" y2=\"%d\"/>\n", x(at), x(at), y)
		chart.Text(b, "s", x(at), y+16, "middle", fmt.Sprintf("%d ms", at.Milliseconds()))
	}
}

// legend says in words what the rows show.
func legend(b *strings.Builder, p picture, y int) {
	lines := []string{"Blue: advertisements, one each 100 ms."}
	said := fmt.Sprintf("n%d hears none for three intervals and its Skew_Time", p.Taker)
	if p.Bound > 0 {
		said += fmt.Sprintf(", binds the address after %s ms", lab.Milliseconds(p.Bound))
	}
	if len(p.Announce) > 0 {
		said += fmt.Sprintf(" and announces it after %s ms", lab.Milliseconds(p.Announce[0]))
	}
	lines = append(lines, said+".", fmt.Sprintf("The client sends a probe each millisecond; %d had no answer.", p.Lost))
	for i, line := range lines {
		chart.Text(b, "s", 20, y+18*i, "start", line)
	}
}

func bar(b *strings.Builder, class string, from, to time.Duration, y int) {
	fmt.Fprintf(b, "<rect class=\"%s\" x=\"%g\" y=\"%d\" width=\"%g\" height=\"%d\"/>\n", class, x(from), y, math.Round(10*(x(to)-x(from)))/10, barHeight)
}
