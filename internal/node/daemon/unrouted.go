package daemon

import (
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/node/replies"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// unrouted says why replies from an address of v do not leave this host as they should.
func (h *host) unrouted(v *config.VIP, looker *replies.Looker) func() instance.Unrouted {
	return func() instance.Unrouted {
		lost, _ := looker.Of(*v, h.seen.owned(), h.seen.has)
		return instance.Unrouted{Reason: lost.Reason, Remedy: lost.Remedy}
	}
}

// owned are the links with the node's own addresses alone. Nobody may change them.
func (s *seen) owned() []link.Link {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.own
}
