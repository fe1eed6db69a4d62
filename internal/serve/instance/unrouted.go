package instance

import (
	"cmp"

	"github.com/keepvip/keepvip/internal/base/code"
)

// Unrouted says why what this node says from a virtual address does not leave it as what it says from its own address does.
type Unrouted struct {
	Reason string `json:"reason"`
	Remedy string `json:"remedy"` // what mends it, as commands where these are known
}

// route looks whether replies from the addresses leave this node as they should. It is said, and moves nothing: where routers take packets from any
// side, such replies arrive.
func (i *instance) route() {
	v := i.shared.now()
	if v.cfg.Unrouted == nil {
		return
	}
	now := v.cfg.Unrouted()
	if now.Reason != "" {
		now.Remedy = cmp.Or(now.Remedy, code.RepliesLost.Entry().Remedy)
	}
	if now == v.unrouted {
		return
	}
	if now.Reason != "" {
		i.log.Warn("replies from the address do not leave as they should", "code", string(code.RepliesLost), "reason", now.Reason, "remedy", now.Remedy)
	} else {
		i.log.Info("replies from the address leave as those from this node's own address do")
	}
	i.shared.change(func(v *view) { v.unrouted = now })
}
