package instance

import (
	"maps"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/check/health"
)

// view is all of an instance that more than one goroutine looks at.
type view struct {
	cfg     *Config          // replaced, never changed
	service Service          // nil until the instance runs
	elector election.Elector // nil between terms
	place   Place
	terms   uint64
	last    *Transition // the newest; nil: none yet
	removed bool        // the instance has ended

	ending   func() bool       // tells whether it is about to; nil: no
	apart    bool              // there is no election to take part in
	decides  bool              // the elector of this term has decided something
	changes  map[string]uint64 // of state, by the names of their causes; replaced, never changed
	reported Report            // the newest one; zero: none yet

	role   election.Role // of the newest decision
	holder netip.Addr    // as the newest decision has it
	known  bool          // somebody is, or was, known that has the addresses
	alone  bool          // a role other than Serve, and nobody is known that has the addresses
	state  election.State
	since  time.Time
	reason string
	code   code.Code

	// What the fitness comes from.
	desired  desiredState
	verdicts map[string]health.Verdict // replaced, never changed
	failing  string                    // why every check is taken to be bad, in a drill; empty: it is not
	blocked  election.Fitness

	uncovered string // why clients are refused at an address while this node holds it
	unrouted  Unrouted
	outside   string // why this node cannot connect to the addresses where another one holds them
	// unreachedSaid is what the log says of that, and of the other nodes.
	unreachedSaid string
	lacking       string // why an address of one family cannot be bound here, while the others can
}

func (v *view) begin(p Place, e election.Elector) {
	v.place, v.elector, v.role, v.blocked = p, e, election.Off, election.Fitness{}
	v.apart, v.decides, v.holder, v.outside = false, false, netip.Addr{}, ""
	v.terms++
}

// endpoint is where clients connect now.
func (v *view) endpoint() string {
	if v.known || v.cfg.Interim == "" {
		return v.cfg.endpoint()
	}
	return v.cfg.Interim
}

// count counts a change of state. A member may give a code that has no name here: all of these count together.
func (v *view) count(why code.Code) {
	next := maps.Clone(v.changes)
	if next == nil {
		next = map[string]uint64{}
	}
	next[why.Name()]++
	v.changes = next
}

// said is what the checks say, or are made to say in a drill.
func (v *view) said() map[string]health.Verdict {
	if v.failing == "" {
		return v.verdicts
	}
	out := map[string]health.Verdict{}
	for _, c := range v.cfg.Checks {
		out[c.Name] = health.Verdict{State: health.Unhealthy, Reason: v.failing, Code: code.DrillCheck}
	}
	return out
}

// note keeps the state and the reason that status shows, and tells whether they are new.
func (v *view) note(s election.State, reason string, why code.Code) bool {
	fresh := v.state != s || v.reason != reason
	if v.state != s {
		v.since = time.Now()
	}
	v.state, v.reason, v.code = s, reason, why
	return fresh
}

// decided takes in a decision that the service has carried out, or could not, and tells whether it is worth a line. What a holder does
// about a rival, and the end of a passing, the service tells.
func (v *view) decided(d election.Decision, err error) bool {
	from := v.role
	v.decides, v.holder = true, d.Holder
	if d.Role == election.Quiet && (from != election.Serve || err != nil) {
		return false // nothing has changed
	}
	v.role = d.Role
	v.known = v.known || d.Holder.IsValid() && d.Role != election.Off || d.Role == election.Serve && err == nil
	switch {
	case d.Role == election.Serve && (from == election.Serve || err != nil), from == election.Quiet && d.Role == election.Standby:
		return false
	case d.Role == election.Serve, d.Role == election.Quiet, from == election.Serve:
		v.note(d.Role.State(), d.Reason, d.Code)
	// A state that was entered with nobody in sight has another reason as soon as somebody is.
	case from.State() != d.Role.State() || v.alone || !d.Holder.IsValid():
		v.note(d.Role.State(), d.Reason, d.Code)
		v.alone = !d.Holder.IsValid()
	}
	return true
}
