package health

import (
	"cmp"
	"fmt"
	"math"
	"slices"
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

// MarshalText is String, for JSON.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (s *State) UnmarshalText(text []byte) error {
	i := slices.Index(stateNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("health: state %q, want one of %v", text, stateNames)
	}
	*s = State(i)
	return nil
}

var stateNames = [...]string{"unknown", "healthy", "unhealthy"}

// Verdict is a State with what led to it. Its JSON form is part of the status.
type Verdict struct {
	State     State     `json:"state"`            // unknown, healthy or unhealthy
	Outcome   Outcome   `json:"-"`                // of the last probe
	Reason    string    `json:"reason"`           // of the last probe: "200", "403", "connection refused", "timeout after 600ms in the TLS handshake"
	Hint      string    `json:"hint,omitempty"`   // what an operator should know or do about it
	Code      code.Code `json:"code,omitempty"`   // why it is not healthy
	Since     time.Time `json:"since"`            // of the state; zero before the first probe
	LastProbe time.Time `json:"lastProbe"`        // when the last probe ended
	Latency   float64   `json:"latencySeconds"`   // of the last probe
	Probes    uint64    `json:"probes"`           // all of them
	Failures  uint64    `json:"failures"`         // those that did not pass
	Streak    int       `json:"streak,omitempty"` // last probes in a row that speak against the state
	Changes   uint64    `json:"changes"`          // of the state, the first included
	Falls     int       `json:"falls,omitempty"`  // how often it became unhealthy lately: it flaps
	Rise      int       `json:"rise,omitempty"`   // good probes in a row that it takes to become healthy
	// Lacks is what this host had too little of for the last probe, so that the state is as before; absent when it had all.
	Lacks   code.Code `json:"lacks,omitempty"`
	Unasked uint64    `json:"unasked,omitempty"` // probes that could not be made for that
	// Expires is when the certificate expires that the service showed last; absent where it showed none.
	Expires time.Time `json:"certificateExpires,omitzero"`
	Points  int       `json:"-"` // what the check moves the priority by, of one that says so itself: see [Number]
}

// took is how long the last probe took.
func (v *Verdict) took() time.Duration {
	return time.Duration(math.Round(v.Latency * float64(time.Second)))
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
