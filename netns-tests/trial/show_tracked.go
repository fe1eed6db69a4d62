package trial

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

const (
	// trackedLimit is for how long what is counted now and then may be unknown.
	trackedLimit = 30 * time.Second
	// trackedIdle is for how long the cost of counting is measured.
	trackedIdle = 20 * time.Second
	// askedLimit is how long `keepvip spread` may take, from its start to its end.
	askedLimit = time.Second
	// countingLimit is how much of a processor may go into counting, in per cent, and drainingLimit the same while an operator waits for the end.
	countingLimit, drainingLimit = 3, 12
)

// Tracking is a group whose nodes track connections that are spread, of clients that there are none of.
type Tracking struct {
	*Spreading
	count int
}

// OpenTracking opens a group of three, each of which tracks so many connections that it serves.
func OpenTracking(host *lab.Host, count int, interval time.Duration) (_ *Tracking, err error) {
	defer try.Catch(&err)
	s := try.Get(OpenSpread(host, SpreadConfig{V4: true, Interval: interval}))
	t := &Tracking{s, count}
	for _, n := range s.Lab.Nodes {
		if err := n.Track(t.Targets()[0], netip.AddrPortFrom(n.Address, spreadTarget), count); err != nil {
			s.Close()
			return nil, err
		}
	}
	return t, nil
}

// Asked is how long `keepvip spread` takes on a node, and how many connections that node has by it.
func (t *Tracking) Asked(n *lab.Node) (connections int, took time.Duration, err error) {
	began := time.Now()
	text, err := t.product.Ask(n, "spread", "-o", "json")
	took = time.Since(began)
	if err != nil {
		return 0, took, err
	}
	var doc spreadDoc
	if err := json.Unmarshal([]byte(text), &doc); err != nil || len(doc.VIPs) == 0 {
		return 0, took, fmt.Errorf("trial: keepvip spread on %s: %w: %s", n.Label, err, text)
	}
	return doc.connections(true), took, nil
}

// Counted waits until each node has counted its connections, and tells after how long, and how long the slowest answer took.
func (t *Tracking) Counted() (after, asked time.Duration, err error) {
	for _, n := range t.Lab.Nodes {
		var last int
		one, err := until(trackedLimit, "all connections are counted", func() bool {
			connections, took, err := t.Asked(n)
			last, asked = connections, max(asked, took)
			return err == nil && connections >= t.count
		})
		if err != nil {
			return 0, 0, fmt.Errorf("%w: %s has counted %d of %d\n%s", err, n.Label, last, t.count, t.Logs())
		}
		after += one
	}
	return after, asked, nil
}

// Lost is how many of the connections no node tracks any more.
func (t *Tracking) Lost() (lost int, err error) {
	defer try.Catch(&err)
	for _, n := range t.Lab.Nodes {
		now, _ := try.Two(n.Tracked())
		lost += max(t.count-now, 0)
	}
	return lost, nil
}

// DrainEnds has an operator wait for the last connection of a node that does not hold the address, and tells how soon the operator knows that there is
// none any more, and what the daemon takes meanwhile, in per cent of a processor.
func (t *Tracking) DrainEnds(counts time.Duration) (after time.Duration, percent float64, err error) {
	defer try.Catch(&err)
	n := t.Lab.Nodes[try.Get(t.SettleAny()).ID%len(t.Lab.Nodes)]
	p := try.Get(t.product.BeginCommand(n, "drain", "--wait", "--timeout", "60s", "--socket", Socket(n)))
	percent = t.busiest(counts)
	if !p.Alive() {
		return 0, 0, fmt.Errorf("trial: the drain of %s did not wait for %d connections: %s", n.Label, t.count, p.Log())
	}
	began := time.Now()
	try.Do(n.ForgetTracked())
	code, err := p.Wait(trackedLimit)
	if err == nil && code != 0 {
		err = fmt.Errorf("trial: the drain of %s: exit status %d: %s", n.Label, code, p.Log())
	}
	return time.Since(began), percent, err
}

// Full has a node track so many connections that hardly one more has room, and tells what `keepvip spread` and `keepvip doctor` say of that.
func (t *Tracking) Full(n *lab.Node) (said string, err error) {
	defer try.Catch(&err)
	now, most := try.Two(n.Tracked())
	const other = 9445 // a port that is not spread: all that the node tracks counts
	try.Do(n.Track(netip.AddrPortFrom(n.Address, other), netip.AddrPortFrom(n.Address, other), most/10*9+1000-now))
	for _, args := range [][]string{
		{"spread", "--socket", Socket(n)},
		{"doctor", "--config", n.Path("keepvip.yaml"), "--socket", Socket(n)},
	} {
		p, _ := try.Two(t.product.Command(n, args...))
		said += p.Log() + "\n"
	}
	return said, n.ForgetTracked()
}

// trackedConnections measures what so many connections cost that are spread.
func trackedConnections(host *lab.Host, full bool) (out Findings, err error) {
	defer try.Catch(&err)
	t := try.Get(OpenTracking(host, sized(full, 100_000, 10_000), sized(full, 100*time.Millisecond, 250*time.Millisecond))) // others run beside less of it
	defer t.end(&err)
	counted, asked := try.Two(t.Counted())
	out = append(out, told(fmt.Sprintf("%d counted after", t.count), counted), took("keepvip spread takes", asked, askedLimit))
	out = append(out, idleFindings(try.Get(Idle(sized(full, trackedIdle, trackedIdle/4))(t.Group)), countingLimit).of("nothing happens")...)
	for _, e := range SpreadEventsOf("handover") {
		out = append(out, append(try.Get(t.Keep(e, spreadConnected)).Findings(e), none("tracked no more", try.Get(t.Lost()))).of(e.Name)...)
	}
	ends, percent := try.Two(t.DrainEnds(sized(full, 10*time.Second, 3*time.Second)))
	out = append(out, Measured{What: "drain --wait: CPU", Got: percent, Limit: drainingLimit, Unit: "%"}, took("the last one's end is known after", ends, 5*time.Second))
	said := try.Get(t.Full(t.Lab.Nodes[0]))
	for _, want := range []string{"KV484", "sysctl -w net.netfilter.nf_conntrack_max="} {
		out = append(out, none("not said when it is full: "+want, count(!strings.Contains(said, want))))
	}
	return out, nil
}
