package control

import "errors"

// The paths of the socket's API.
const (
	PathStatus   = "/v1/status"
	PathConfig   = "/v1/config"
	PathHistory  = "/v1/history"
	PathAnnounce = "/v1/announce"
	PathReload   = "/v1/reload"
	PathHandover = "/v1/handover"
	PathDrain    = "/v1/drain"
	PathHold     = "/v1/hold"
	PathResume   = "/v1/resume"
	PathMember   = "/v1/member"
	PathDrill    = "/v1/drill"
	PathLogLevel = "/v1/log-level"
)

// Problem is the body of every answer that is not a success.
type Problem struct {
	Error string `json:"error"`
	Kind  kind   `json:"kind,omitempty"`
}

// kind tells problems apart that a caller may want to handle.
type kind string

// The kinds.
const (
	KindNoTaker kind = "no-taker" // no other node could take the address
	KindTimeout kind = "timeout"  // it was not taken in time
)

// KindError is an error of a known kind.
type KindError struct {
	Kind kind
	Err  error
}

// Error implements error.
func (e *KindError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *KindError) Unwrap() error { return e.Err }

// problem is the body for err.
func problem(err error) Problem {
	p := Problem{Error: err.Error()}
	var kind *KindError
	if errors.As(err, &kind) {
		p.Kind = kind.Kind
	}
	return p
}
