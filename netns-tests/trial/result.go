package trial

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// Result is one fault and what it cost.
type Result struct {
	Case    string        `json:"case,omitempty"` // of the bench
	Fault   string        `json:"fault"`
	Product string        `json:"product"`
	FaultAt time.Duration `json:"faultAt"`
	Victim  int           `json:"victim"` // node that held the address
	Taker   int           `json:"taker"`  // node that held it at the end
	// Announcer is the node whose announcement of the first address was the
	// last one on the wire, 0 if there was none after the fault.
	Announcer int `json:"announcer,omitempty"`
	// Outage is the longest outage at the client over all addresses; Lost is
	// every probe that was lost from the fault on.
	Outage time.Duration `json:"outage"`
	Lost   int           `json:"lost"`
	// LostMost is the same for the stream that lost most.
	LostMost int `json:"lostMost"`
	// Answered is the time from the fault to the first answer of another node.
	Answered time.Duration `json:"answered"`
	// Excess is what the takeover took beyond the protocol's own time: from the
	// old holder's last advertisement to the first answer, less the taker's
	// Active_Down_Interval.
	Excess    time.Duration `json:"excess"`
	Takeovers int           `json:"takeovers"`           // binds after the fault
	BySilence int           `json:"bySilence,omitempty"` // moves, because the one that advertised had ceased to: see [lab.Report.BySilence]
	Overdue   int           `json:"overdue,omitempty"`   // answers of nodes after their lease: see [lab.Report.Overdue]
	Two       time.Duration `json:"two"`                 // time with two nodes answering
	Finders   time.Duration `json:"finders"`             // time with two nodes answering ARP or neighbour discovery
	Recovered time.Duration `json:"recovered,omitempty"` // from the fault until clients were answered for good, where a fault looks for it
	Healing   time.Duration `json:"healing,omitempty"`   // Finders after the network was whole again, likewise
	Seen      time.Duration `json:"seen"`                // from the fault until the product saw it, -1 if it did not: see [Group.seen]
	Announce  time.Duration `json:"announce"`            // longest time from a bind to its first announcement, -1 if none was seen
	HTTPS     time.Duration `json:"https"`               // longest time with failing requests
	Failed    int           `json:"failed,omitempty"`    // requests refused or timed out, where a fault counts them
	Resets    int           `json:"resets,omitempty"`    // requests whose connection was reset, likewise
	MovesMost int           `json:"movesMost,omitempty"` // takeovers while it was one node's turn, at most, likewise
	// FailedTwice are those of both that failed again when they were made once more.
	FailedTwice int           `json:"failedTwice,omitempty"`
	Stall       time.Duration `json:"stall"`             // longest stall of the machine around the fault
	CPU         float64       `json:"cpu,omitempty"`     // per cent of one core, where a fault measures it
	RSS         int64         `json:"rss,omitempty"`     // octets, likewise
	Note        string        `json:"note,omitempty"`    // a figure that has no column
	Silence     *Silence      `json:"silence,omitempty"` // where a fault looks for it
	Report      *lab.Report   `json:"report,omitempty"`
}

// watch starts a measurement for a fault on this group.
func (g *Group) watch(name string, cfg lab.MeasureConfig) (*lab.Measurement, error) {
	cfg.Name, cfg.Targets = name, g.Addresses
	return g.Lab.Measure(cfg)
}

// result reduces a report.
func (g *Group) result(fault string, at time.Duration, victim *lab.Node, r *lab.Report) *Result {
	res := &Result{Fault: fault, Product: g.Product.Name(), FaultAt: at, Report: r, Announce: -1}
	if victim != nil {
		res.Victim = victim.ID
	}
	vip := g.Addresses[0]
	res.Taker = r.Taker(vip, at)
	res.Takeovers = r.Takeovers(vip, at)
	res.BySilence = r.BySilence(at)
	if announced := r.AnnouncementsAfter(vip, at); len(announced) > 0 {
		res.Announcer = announced[len(announced)-1].Node
	}
	res.Outage, res.Lost = r.LongestAfter(at), r.Lost()
	for _, s := range r.Streams {
		res.LostMost = max(res.LostMost, s.Lost)
	}
	res.Two, res.Finders = r.TwoIn(at, r.Ended), r.DiscoveryTwoIn(at, r.Ended)
	for _, n := range g.Lab.Nodes {
		for _, a := range g.Addresses {
			res.Overdue += len(r.Overdue(n.ID, a))
		}
	}
	for _, s := range r.HTTPS {
		res.HTTPS = max(res.HTTPS, s.LongestAfter(at))
	}
	for _, a := range g.Addresses {
		for _, d := range r.AnnouncementDelays(a, at) {
			res.Announce = max(res.Announce, d)
		}
	}
	g.takeover(res, vip)
	res.Seen = g.seen(res, victim)
	res.Stall = r.StallIn(at-100*time.Millisecond, at+max(res.Answered, res.Outage)+100*time.Millisecond)
	return res
}

func (g *Group) takeover(res *Result, vip netip.Addr) {
	s := res.Report.Stream("c1", vip)
	if s == nil {
		return
	}
	answered, node, ok := s.FirstAnswer(res.FaultAt, res.Victim)
	if !ok {
		return
	}
	res.Answered = answered - res.FaultAt
	if last, ok := res.Report.LastAdvert(res.Victim, res.FaultAt); ok {
		res.Excess = answered - last.At - g.Settings[node-1].downInterval()
	}
}

// stillLimit is for how long the machine may stand still around a fault whose figures count.
const stillLimit = 20 * time.Millisecond

// Disturbed reports whether the machine stood still long enough to spoil the figures: the bench leaves such a run out, and says so.
func (r *Result) Disturbed() bool { return r.Stall > stillLimit }

func (r *Result) addNote(format string, args ...any) {
	if r.Note != "" {
		r.Note += ", "
	}
	r.Note += fmt.Sprintf(format, args...)
}

// seen is how long it took from the fault until it was seen: until the holder's
// own check has fallen, by its log; where the holder itself is what broke, until
// another node has taken the address. -1 stands for never.
func (g *Group) seen(res *Result, victim *lab.Node) time.Duration {
	if victim != nil && g.Daemon(victim) != nil {
		for line := range strings.Lines(g.Daemon(victim).Log()) {
			at, ok := g.fell(line)
			// The log has whole milliseconds.
			if ok && at >= res.FaultAt-time.Millisecond {
				return max(at-res.FaultAt, 0)
			}
		}
	}
	if at := res.takenAt(g.Addresses[0]); at > 0 {
		return at - res.FaultAt
	}
	return -1
}

// takenAt is when another node than the victim has bound an address after the fault, 0 for never.
func (r *Result) takenAt(a netip.Addr) time.Duration {
	return firstBind(r.Report, a, r.FaultAt, func(node int) bool { return node != r.Victim })
}

// firstBind is when an address was bound first, from an instant on and on such a node; 0 for never.
func firstBind(r *lab.Report, a netip.Addr, from time.Duration, on func(node int) bool) time.Duration {
	for _, b := range r.Binds {
		if b.Added && b.Address == a && b.At >= from && on(b.Node) {
			return b.At
		}
	}
	return 0
}

func anyNode(int) bool { return true }

// fell reads a line of keepvip's log that says that a check has fallen.
func (g *Group) fell(line string) (at time.Duration, ok bool) {
	stamp, rest, _ := strings.Cut(strings.TrimPrefix(line, "time="), " ")
	if !strings.Contains(rest, `msg="health changed"`) || !strings.Contains(rest, " healthy=false ") {
		return 0, false
	}
	t, err := time.Parse(time.RFC3339Nano, stamp)
	return g.Lab.Instant(t), err == nil
}
