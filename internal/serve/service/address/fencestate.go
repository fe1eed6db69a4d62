package address

import (
	"cmp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keepvip/keepvip/internal/serve/instance"
)

// fenceState is how a fence is, for any goroutine.
type fenceState struct {
	uncovered func() string
	held      atomic.Bool
	missing   atomic.Bool // others have taken the fence away, and it is not there again

	mu        sync.Mutex // guards what follows
	renewal   renewal    // how the lease is renewed
	state     instance.FenceStatus
	unchanged error     // why the fence is not that of the newest configuration
	unguarded error     // why there is no guard, although one was asked for
	standing  bool      // on standby, while it is not held
	unarmed   error     // why the guard of a node on standby is not in place
	armed     time.Time // when that one was put up
	good      time.Time // until then a guard is in place that outlasts an address that is bound
	lapsed    time.Time // since when the kernel has had no lease although the elector has one; zero: it has
	spread    *Spread   // what packets pass lease or not; nil: none
	allowed   time.Time // elsewhere: the end of the lease as the first interface allowed it when it was asked last
	drainEnd  time.Time // until when the address may answer on connections that are drained: the elector's lease is over then
}

// mode is how the lease is renewed.
func (s *fenceState) mode() renewal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.renewal
}

// note keeps how the fence is. What was asked of it and has not come to be counts, however sound the kernel has the rest.
func (s *fenceState) note(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err = cmp.Or(err, s.unguarded, s.unarmed, s.unchanged)
	s.state.Standing, s.state.Reason, s.state.Uncovered = err == nil, "", s.uncovered()
	if err != nil {
		s.state.Reason = err.Error()
	}
}

func (s *fenceState) seen() instance.FenceStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

func (s *fenceState) lapsedSince() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lapsed
}

func (s *fenceState) setLapsed(since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lapsed = since
	if !since.IsZero() {
		s.state.Lapses++
	}
}

// countRenewal counts a renewal by transaction.
func (s *fenceState) countRenewal(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Renewals++; err != nil {
		s.state.RenewalErrors++
	}
}

func (s *fenceState) setUnguarded(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unguarded = err
}

func (s *fenceState) standsBy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.standing
}

// guardedNow tells whether the guard outlasts an address that is bound at this moment.
func (s *fenceState) guardedNow() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Before(s.good)
}

func (s *fenceState) setDrainEnd(until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drainEnd = until
}
