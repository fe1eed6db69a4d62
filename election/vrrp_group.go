package election

import (
	"time"

	"github.com/keepvip/keepvip/vrrp"
)

// consult does what the group wants: become Active with the others, or give up with them.
func (e *VRRP) consult() {
	s := e.cfg.GroupMember
	if s == nil || e.out {
		return
	}
	now := time.Now()
	if s.mayTake() {
		e.step(now, vrrp.TakeOver{})
		return
	}
	if reason := s.mustYield(2 * e.machine.Snapshot().ActiveDownInterval); reason != "" {
		e.step(now, vrrp.Shutdown{Reason: vrrp.Reason(reason)})
		e.step(now, vrrp.Startup{})
	}
}

// tellGroup lets the group know how this election stands.
func (e *VRRP) tellGroup(s vrrp.Snapshot) {
	if e.cfg.GroupMember != nil {
		e.cfg.GroupMember.tell(stateOf(s.State), s.Ready, e.heardHolder(time.Now()).IsValid())
	}
}
