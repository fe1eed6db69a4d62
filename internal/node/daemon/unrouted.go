package daemon

import (
	"net/netip"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/node/replies"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// unrouted says why replies from an address of v do not leave this host as they should.
func (h *host) unrouted(v config.VIP, looker *replies.Looker) func() instance.Unrouted {
	return func() instance.Unrouted {
		_, links := h.seen.last()
		lost, _ := looker.Of(v, links, h.seen.allVirtual())
		return instance.Unrouted{Reason: lost.Reason, Remedy: lost.Remedy}
	}
}

// allVirtual are the virtual addresses of the configuration in force.
func (s *seen) allVirtual() []netip.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.virtual
}
