package spread

import (
	"reflect"
	"slices"
	"sync"

	"github.com/keepvip/keepvip/election"
)

// spreader has the elector of one term tell the other members what this node says of itself. The service's goroutine sets that; whoever ends the term
// does so from another one, and does not wait for what goes on in the kernel.
type spreader struct {
	mu      sync.Mutex        // guards what follows
	elector election.Spreader // nil: the term is over
	said    *election.Spread  // the newest; nil: this node does not spread
}

// say changes what is said; nil: this node does not spread. The same again changes nothing, and neither does anything once the term is over.
func (s *spreader) say(next *election.Spread) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.elector == nil || reflect.DeepEqual(s.said, next) {
		return
	}
	s.said = next
	s.elector.SetSpread(next)
}

// sayUnhealthy says of the ports which of them are not healthy any more, as next has it, and nothing else of next.
func (s *spreader) sayUnhealthy(next *election.Spread) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.elector == nil || s.said == nil {
		return
	}
	worse := *s.said
	worse.Ports = slices.Clone(s.said.Ports)
	for i := range worse.Ports {
		p := &worse.Ports[i]
		p.Healthy = p.Healthy && !slices.ContainsFunc(next.Ports, func(o election.SpreadPort) bool {
			return o.Protocol == p.Protocol && o.Port == p.Port && !o.Healthy
		})
	}
	if !reflect.DeepEqual(s.said, &worse) {
		s.said = &worse
		s.elector.SetSpread(&worse)
	}
}

// end says for the last time something: that this node spreads no more.
func (s *spreader) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.elector != nil && s.said != nil {
		s.elector.SetSpread(nil)
	}
	s.elector = nil
}
