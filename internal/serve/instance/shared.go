package instance

import (
	"sync"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/check/health"
)

// shared is the view of an instance, for any goroutine.
type shared struct {
	mu   sync.Mutex // guards view
	view view
}

// block is what the service says.
func (s *shared) block(b election.Fitness) { s.tell(func(v *view) { v.blocked = b }) }

// tell changes what the fitness comes from, and has the elector know. The lock keeps an older fitness from coming last.
func (s *shared) tell(change func(*view)) {
	s.change(func(v *view) {
		change(v)
		if v.elector != nil {
			v.elector.SetFitness(v.fitness())
		}
	})
	if j, ok := s.served().(Judged); ok {
		j.Judged()
	}
}

// change changes the view.
func (s *shared) change(change func(*view)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.view)
	s.view.report()
}

// now is a copy of the view.
func (s *shared) now() view {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.view
}

// served is the service.
func (s *shared) served() Service {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.view.service
}

// placed is where the election takes place.
func (s *shared) placed() Place {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.view.place
}

// ready is what a Term's service may ask.
func (s *shared) ready() Readiness {
	v := s.now()
	return readiness(v.cfg.combine(v.desired, v.said(), v.blocked))
}

// healthy tells whether the check of that name is good.
func (s *shared) healthy(check string) bool {
	v := s.now()
	return v.said()[check].State == health.Healthy
}
