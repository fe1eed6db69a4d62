package instance

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/state"
	"github.com/keepvip/keepvip/internal/check/health"
	"github.com/keepvip/keepvip/internal/config"
)

// Status is one instance as an operator sees it. Its JSON form is part of the command line's contract.
type Status struct {
	Name      string               `json:"name"`
	Group     string               `json:"group,omitempty"` // of instances that move together
	Addresses []netip.Prefix       `json:"addresses"`
	Mode      config.Mode          `json:"mode"`               // whose the addresses are: internal, or external: somebody else's, and this node holds none, or not for long
	Endpoint  string               `json:"endpoint,omitempty"` // where clients connect, as host:port; absent where no port is known
	Interface string               `json:"interface"`
	Virtual   *Bearer              `json:"virtualMAC,omitempty"` // absent: the addresses have the interface's own MAC
	State     string               `json:"state"`                // initialize, backup or active
	Desired   Desired              `json:"desired"`              // what an operator wants
	Observed  Observed             `json:"observed"`             // what this node is at this moment; Reason, Unfit and Held say why
	Held      *state.Hold          `json:"held,omitempty"`       // since when and why, if it is held or drained
	Holder    string               `json:"holder"`               // the Active's own address; empty while none is heard
	Since     time.Time            `json:"since"`
	Reason    string               `json:"reason"`
	Code      code.Code            `json:"code"`              // of Reason: the first cause, as far as it is known
	Why       *Why                 `json:"why,omitempty"`     // why Observed is what it is, where Reason does not say it
	Eligible  bool                 `json:"eligible"`          // would this node be a good holder
	Unfit     string               `json:"unfit,omitempty"`   // why it would not
	Silent    bool                 `json:"silent,omitempty"`  // it is Active without a lease, so it does not answer; Reason says why
	Blocked   string               `json:"blocked,omitempty"` // why no node can take the address, as without a majority
	Priority  uint8                `json:"priority"`          // as advertised now
	Preempt   bool                 `json:"preempt"`           // a higher priority takes the address from a lower one
	VRID      uint8                `json:"vrid,omitempty"`    // of the Virtual Router
	Check     *CheckStatus         `json:"check,omitempty"`   // the one that decides; absent when nothing is checked
	Checks    []CheckStatus        `json:"checks,omitempty"`  // all of them
	Fence     FenceStatus          `json:"fence"`
	Spread    *SpreadStatus        `json:"spread,omitempty"`         // how connections are spread over the members; absent: the holder serves all of them
	Route     *RouteStatus         `json:"route,omitempty"`          // by which a routing daemon tells routers of this node; absent: nothing is announced so
	Leases    []LeaseStatus        `json:"dhcp,omitempty"`           // of a DHCP server, that this node keeps as the holder
	Members   []election.Member    `json:"members"`                  // this node and those it has heard
	Takers    Takers               `json:"takers"`                   // who could take the address over
	Local     bool                 `json:"local,omitempty"`          // nobody is elected: each fit node serves, and this one knows nothing of the others
	Last      *Transition          `json:"lastTransition,omitempty"` // the newest change of this node's role, or of the holder, in this run
	Lateness  float64              `json:"latenessSeconds"`          // the worst of the last one to two minutes: how late timers are served here
	Rejected  []election.Rejection `json:"rejected,omitempty"`       // what was not taken into account, the newest first
	Conflicts []Conflict           `json:"conflicts"`                // hosts outside the election that claim an address
	Uncovered string               `json:"uncovered,omitempty"`      // why clients of this node as the holder are refused though the service is well (KV361)
	Unreached string               `json:"unreached,omitempty"`      // who hears the holder, and cannot connect to the address there (KV344)
	Lacking   string               `json:"lacking,omitempty"`        // why addresses of one family are not, or would not be, bound on this node while the others are (KV343)
	Unrouted  *Unrouted            `json:"unrouted,omitempty"`       // why clients get no answer from this node as the holder (KV342); absent: they do
	Splits    []election.Split     `json:"splits"`                   // members that hold the address as well as this node, or would
	Detector  *election.Detector   `json:"detector,omitempty"`       // how it would be found out that the holder is gone; absent: by its advertisements
	Counters  Counters             `json:"counters"`

	NoCandidate bool `json:"noCandidate,omitempty"` // this node is a member, and never holds the address

	lease   time.Duration     // for how long the kernel lets a holder answer that is not heard of
	changes map[string]uint64 // of state, by the names of their causes, since the instance was added
	unfit   code.Code         // of Unfit
	blocked code.Code         // of Blocked
}

// virtualMAC is that of a place; nil: there is none.
func (p Place) virtualMAC() *Bearer {
	if p.Bearer.Index == 0 {
		return nil
	}
	return &p.Bearer
}

// CheckStatus is the newest verdict of a health check.
type CheckStatus struct {
	Name   string `json:"name,omitempty"`   // absent for the only one, which has none
	Weight int    `json:"weight,omitempty"` // absent for a condition
	health.Verdict

	numbered bool // a condition, whatever its weight
}

// Counters count since the instance was added; those of the election since its newest term began.
type Counters struct {
	election.Counters
	Announcements     uint64 `json:"announcements"`
	AnnouncementFails uint64 `json:"announcementErrors"`
	Restored          uint64 `json:"addressesRestored"`
	Terms             uint64 `json:"terms"`
}

// Status lists the instances in the order of the configuration.
func (a *Set) Status() []Status {
	all := a.all()
	out := make([]Status, len(all))
	for i, r := range all {
		v := r.shared.now()
		out[i] = v.status()
	}
	return out
}

// status is without a lock: to look at a fence, and at an election, takes its time.
func (v *view) status() Status {
	s := Status{
		Name: v.cfg.VIP.Name, Addresses: v.cfg.VIP.Addresses, Interface: v.place.Name, Virtual: v.place.virtualMAC(), VRID: v.cfg.VRID(), Group: v.cfg.VIP.Group, Preempt: v.cfg.vrrp() && v.cfg.VIP.VRRP.Preempt, Last: v.last,
		Mode: v.cfg.mode(), Endpoint: v.endpoint(),
		State: v.state.String(), Since: v.since, Reason: v.reason, Code: v.code, Members: []election.Member{}, Splits: []election.Split{},
		lease: v.cfg.Lease, changes: v.changes, Uncovered: v.uncovered, Lacking: v.lacking,
	}
	if v.unrouted != (Unrouted{}) {
		s.Unrouted = &v.unrouted
	}
	var part ServiceStatus
	if v.service != nil {
		part = v.service.Status()
	}
	s.Spread, s.Route, s.Leases = part.Spread, part.Routes, part.Leases
	s.Fence, s.Conflicts = part.Fence, append([]Conflict{}, part.Conflicts...)
	if !v.cfg.apart() {
		s.name()
	}
	s.Counters = Counters{Announcements: part.Announcements, AnnouncementFails: part.AnnouncementFails, Restored: part.Restored, Terms: v.terms}
	for _, c := range v.cfg.Checks {
		s.Checks = append(s.Checks, v.checkStatus(c))
	}
	s.Check = decisive(s.Checks)
	s.Desired = v.desired.Desired
	if !v.desired.Since.IsZero() {
		s.Held = &v.desired.Hold
	}
	if v.elector == nil {
		s.Unfit = v.reason
	} else {
		e := v.elector.Status()
		s.add(e)
		s.Unreached = v.unreached(e)
	}
	v.nameClaimants(&s)
	if over, dropped := v.unrenewed(time.Now(), part); over > 0 {
		s.silence(over, dropped)
	}
	s.Local, s.Observed = v.cfg.VIP.Local(), v.observed(&s, part.Passing)
	s.Takers = s.takers()
	s.Why = v.why(&s)
	return s
}

func (s *Status) add(e election.Status) {
	s.Priority, s.Lateness = e.Priority, e.TimerLag.Seconds()
	s.Eligible, s.Unfit, s.unfit = e.Fitness.Less < lastPlace && !e.Fitness.Out, e.Fitness.Reason, e.Fitness.Code
	if e.Holder.IsValid() {
		s.Holder = e.Holder.String()
	}
	if e.Present != "" && s.State == e.State.String() {
		s.Reason, s.Code = e.Present, e.Code
	}
	s.Blocked, s.blocked, s.Takers.Reason = e.Blocked, e.BlockedCode, e.NoSpare
	for _, m := range e.Members {
		s.NoCandidate = s.NoCandidate || m.Self && m.NoCandidate
		if !m.Speaks() {
			m.Node, m.Unfit, m.Code = "", "", "" // it says nothing itself
		}
		s.Members = append(s.Members, m)
	}
	s.Detector = e.Detector
	s.Splits, s.Rejected = append(s.Splits, e.Splits...), e.Rejected
	s.Counters.Counters = e.Counters
}

// Member is the member of that address; nil for none.
func (s *Status) Member(address string) *election.Member {
	if i := slices.IndexFunc(s.Members, func(m election.Member) bool { return m.Address.String() == address }); i >= 0 {
		return &s.Members[i]
	}
	return nil
}

// HolderName is what an operator calls the holder.
func (s *Status) HolderName() string {
	if m := s.Member(s.Holder); m != nil {
		return m.String()
	}
	return s.Holder
}

func (v *view) checkStatus(c Check) CheckStatus {
	said := c.Verdict()
	if v.failing != "" {
		said.State, said.Reason, said.Hint, said.Code = health.Unhealthy, v.failing, "", code.DrillCheck
	} else if said.Lacks != "" {
		said.Hint = fmt.Sprintf("this host cannot ask now, so this stays as it was: %s %s", said.Lacks, said.Lacks.Name())
	}
	return CheckStatus{Name: c.Name, Weight: c.Weight, Verdict: said, numbered: c.Numbered}
}

// decisive is the check that an operator wants to see first: a condition that is unhealthy, else one without a result, else the first.
func decisive(checks []CheckStatus) *CheckStatus {
	for _, state := range []health.State{health.Unhealthy, health.Unknown, health.Healthy} {
		for i := range checks {
			if (checks[i].Weight == 0 || checks[i].numbered) && checks[i].State == state {
				return &checks[i]
			}
		}
	}
	if len(checks) == 0 {
		return nil
	}
	return &checks[0]
}

// lately is for how long a fence that was built anew is news.
const lately = 24 * time.Hour

// RepairedLately tells whether something has taken the fence away within a day. It was built anew, and may go again.
func (f FenceStatus) RepairedLately(now time.Time) bool {
	return !f.Repaired.IsZero() && now.Sub(f.Repaired) < lately
}

// nameClaimants says of the hosts that claim an address which of them are known: what to do about these is another thing.
func (v *view) nameClaimants(s *Status) {
	if v.cfg.HostOf == nil {
		return
	}
	known := func(a netip.Addr) bool {
		is := func(o netip.Addr) bool { return o.WithZone("") == a }
		return slices.ContainsFunc(v.cfg.VIP.VRRP.Peers, is) || slices.ContainsFunc(s.Members, func(m election.Member) bool { return !m.Self && is(m.Address) })
	}
	for i := range s.Conflicts {
		c := &s.Conflicts[i]
		if c.Member = v.cfg.HostOf(v.place, c.MAC, known); c.Member.IsValid() {
			c.Code = code.MemberClaims
		}
	}
}

// name gives what the service says its codes.
func (s *Status) name() {
	switch f := &s.Fence; {
	case !f.Standing:
		f.Code = code.FenceLost
	case f.Uncovered != "":
		f.Code = code.FenceUncovered
	case f.RepairedLately(time.Now()):
		f.Code = code.FenceLost
	}
	for i := range s.Conflicts {
		s.Conflicts[i].Code = code.DuplicateAddress
	}
}
