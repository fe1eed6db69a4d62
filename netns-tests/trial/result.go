package trial

import (
	"math"
	"net/netip"
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
	Explained int           `json:"explained,omitempty"` // those that came while the machine, or an ordinary process on it, stood still
	Two       time.Duration `json:"two"`                 // time with two nodes answering
	Finders   time.Duration `json:"finders"`             // time with two nodes answering ARP or neighbour discovery
	// TwoRoom, FindersRoom and HealingRoom are what the machine itself may have added to Two, Finders and Healing: what it stood
	// still from an Active_Down_Interval before until they ceased to answer.
	TwoRoom     time.Duration `json:"twoRoom,omitempty"`
	FindersRoom time.Duration `json:"findersRoom,omitempty"`
	HealingRoom time.Duration `json:"healingRoom,omitempty"`
	// OutageRoom, HTTPSRoom, LostRoom and LostMostRoom are the same for Outage, HTTPS, Lost and LostMost: what the machine stood
	// still around each outage, from as long before as a takeover is watched. RecoveredRoom counts from there, too, until Recovered.
	OutageRoom    time.Duration `json:"outageRoom,omitempty"`
	HTTPSRoom     time.Duration `json:"httpsRoom,omitempty"`
	LostRoom      int           `json:"lostRoom,omitempty"`
	LostMostRoom  int           `json:"lostMostRoom,omitempty"`
	RecoveredRoom time.Duration `json:"recoveredRoom,omitempty"`
	Recovered     time.Duration `json:"recovered,omitempty"` // from the fault until clients were answered for good, where a fault looks for it
	Healing       time.Duration `json:"healing,omitempty"`   // Finders after the network was whole again, likewise
	Seen          time.Duration `json:"seen"`                // from the fault until the product saw it, -1 if it did not: see [Group.seen]
	Announce      time.Duration `json:"announce"`            // longest time from a bind to its first announcement, -1 if none was seen
	HTTPS         time.Duration `json:"https"`               // longest time with failing requests
	Failed        int           `json:"failed,omitempty"`    // requests refused or timed out, where a fault counts them
	Resets        int           `json:"resets,omitempty"`    // requests whose connection was reset, likewise
	MovesMost     int           `json:"movesMost,omitempty"` // takeovers while it was one node's turn, at most, likewise
	// FailedTwice are those of both that failed again when they were made once more.
	FailedTwice int           `json:"failedTwice,omitempty"`
	FailedRoom  int           `json:"failedRoom,omitempty"` // of all these, how many were due while the machine stood still around them
	Stall       time.Duration `json:"stall"`                // longest stall of the machine around the fault
	// Standstill is how long the machine, or an ordinary process on it, stood still within any one second from the fault to the
	// end: what it may have added to any figure.
	Standstill time.Duration `json:"standstill,omitempty"`
	CPU        float64       `json:"cpu,omitempty"`     // per cent of one core, where a fault measures it
	RSS        int64         `json:"rss,omitempty"`     // octets, likewise
	Note       string        `json:"note,omitempty"`    // a figure that has no column
	LeftOut    int           `json:"leftOut,omitempty"` // outages and takeovers that a starved machine explains, and that no figure has
	// NotJudged says why nothing can be told of this run, "" if something can.
	NotJudged string      `json:"notJudged,omitempty"`
	Silence   *Silence    `json:"silence,omitempty"` // where a fault looks for it
	Report    *lab.Report `json:"report,omitempty"`

	before time.Duration // how long before something happened a standstill may have begun it
}

// watch starts a measurement for a fault on this group.
func (g *Group) watch(name string, cfg lab.MeasureConfig) (*lab.Measurement, error) {
	cfg.Name, cfg.Targets = name, g.Addresses
	return g.Lab.Measure(cfg)
}

// result reduces a report.
func (g *Group) result(fault string, at time.Duration, victim *lab.Node, r *lab.Report) *Result {
	res := &Result{Fault: fault, Product: g.Product.Name(), FaultAt: at, Report: r, Announce: -1, before: g.span()}
	if victim != nil {
		res.Victim = victim.ID
	}
	vip := g.Addresses[0]
	res.Taker = r.Taker(vip, at)
	res.Takeovers = r.Takeovers(vip, at)
	res.Explained = g.explained(vip, at, r)
	if announced := r.AnnouncementsAfter(vip, at); len(announced) > 0 {
		res.Announcer = announced[len(announced)-1].Node
	}
	res.Outage, res.Lost = r.LongestAfter(at), r.Lost()
	for _, s := range r.Streams {
		res.LostMost = max(res.LostMost, s.Lost)
	}
	res.Two, res.Finders = r.Direct.TwoAfter(at), r.Direct.DiscoveryTwoAfter(at)
	res.twoRooms(g.Settings[0], math.MaxInt64)
	for _, s := range r.HTTPS {
		res.HTTPS = max(res.HTTPS, s.LongestAfter(at))
	}
	for _, a := range g.Addresses {
		for _, d := range r.AnnouncementDelays(a, at) {
			res.Announce = max(res.Announce, d)
		}
	}
	res.awayRooms()
	g.takeover(res, vip)
	res.Seen = g.seen(res, victim)
	res.Stall = r.StallIn(at-100*time.Millisecond, at+max(res.Answered, res.Outage)+100*time.Millisecond)
	res.Standstill = r.Standstill(at-g.Settings[0].downInterval(), r.Ended)
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

// Disturbed reports whether the machine stood still long enough to spoil the figures: then they are left out, and that is told. What
// must never be is judged all the same.
func (r *Result) Disturbed() bool { return r.NotJudged != "" || r.Stall > 20*time.Millisecond }
