package daemon

import (
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/node/replies"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// unrouted says why replies from an address of v do not leave this host as they should.
func (h *host) unrouted(v *config.VIP, looker *replies.Looker) func() instance.Unrouted {
	return func() instance.Unrouted {
		here := h.seen.now()
		lost, _ := looker.Of(v, here.own, here.has)
		return instance.Unrouted{Reason: lost.Reason, Remedy: lost.Remedy}
	}
}
