package health

import (
	"cmp"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
)

// State is what the checks say about this node.
type State uint8

// The states. A Gate starts Unknown and never returns there.
const (
	Unknown State = iota
	Healthy
	Unhealthy
)

// String is the word that status shows.
func (s State) String() string {
	if int(s) >= len(stateNames) {
		return "invalid"
	}
	return stateNames[s]
}

var stateNames = [...]string{"unknown", "healthy", "unhealthy"}

// Verdict is a State with what led to it.
type Verdict struct {
	State       State
	Outcome     Outcome       // of the last probe
	Reason      string        // of the last probe: "200", "403", "connection refused", "timeout after 600ms in the TLS handshake"
	Hint        string        // what an operator should know or do about it, "" mostly
	Code        code.Code     // of the last probe that did not pass, while the State is not Healthy; CheckFlaps where damping alone keeps it so
	Since       time.Time     // of the State; zero before the first probe
	LastProbe   time.Time     // when the last probe ended
	LastLatency time.Duration // how long it took
	Points      int           // what the check moves the priority by, of one that says so itself: see [Number]
	Streak      int           // last probes in a row that speak against the State; 0 when the last one confirms it
	Probes      uint64        // all of them
	Failures    uint64        // those that did not pass
	Changes     uint64        // of State, the first included
	Falls       int           // from healthy to unhealthy, lately: see [Gate]
	Rise        int           // Passes in a row that it takes to become healthy, damping included
	Lacks       code.Code     // what this host had too little of for the last probe; "": nothing
	Unasked     uint64        // probes that could not be made for want of it; they say nothing, and are no failures
	Expires     time.Time     // when the certificate expires that the server showed last; zero: it showed none
}

// Outcome is what one probe found.
type Outcome uint8

// The outcomes.
const (
	Pass    Outcome = iota
	Fail            // counts towards fall
	Down            // definite: nothing listens, or it says that it is going; it needs no counting
	Unasked         // this host lacked what it takes to ask: nothing is known, and the verdict stays
)

// Result is one probe's finding.
type Result struct {
	Outcome Outcome
	Reason  string
	Hint    string
	Code    code.Code // why it does not pass; empty: code.CheckFailed
	Points  int       // what it moves the priority by; only of [Number]
	// Expires is when the certificate expires that the server showed last, also where it was refused; zero: it showed none.
	Expires time.Time
	// Broken tells that an established connection was cut, as by a process that dies: the next probe follows at once, and
	// finds out whether anything still listens.
	Broken bool
}

// unasked is the Result of a probe that this host could not make.
func unasked(lacks code.Code, err error) Result {
	return Result{Outcome: Unasked, Code: lacks, Reason: brief(err)}
}

// why is the code of a verdict after this result: a probe that passes says nothing of why the ones before did not, but that damping alone
// keeps the service unhealthy.
func (r Result) why(before Verdict) code.Code {
	switch {
	case r.Outcome != Pass:
		return cmp.Or(r.Code, code.CheckFailed)
	case before.State == Healthy:
		return ""
	case before.State == Unhealthy && before.Falls > 1:
		return code.CheckFlaps
	}
	return before.Code
}
