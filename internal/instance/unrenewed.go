package instance

import (
	"fmt"
	"time"

	"github.com/keepvip/keepvip/election"
)

// unrenewedGrace is how long a lease is over before that counts: a starved process is late for a moment.
const unrenewedGrace = time.Second

// unrenewed is for how long a holder has had no lease, so that the fence keeps it from answering: 0 for one that has, or that passes the
// address on, which needs none. The process runs, so what it sends does not leave.
func (v *view) unrenewed(now time.Time, passing bool) time.Duration {
	if v.state != election.Active || v.elector == nil || passing || v.removed {
		return 0
	}
	end := v.elector.LeaseEnd()
	if end.Before(v.since) {
		end = v.since // it has not begun
	}
	if over := now.Sub(end); over > unrenewedGrace {
		return over
	}
	return 0
}

// silence takes back what a holder says that the fence silences, and says why instead.
func (s *Status) silence(over time.Duration) {
	s.Holder, s.Silent = "", true
	s.Reason = fmt.Sprintf("SILENT: the lease has been over for %s, so the kernel keeps this node from answering", over.Round(time.Second))
	if n := s.Counters.SendErrors; n > 0 {
		s.Reason += fmt.Sprintf("; it has refused to send %d advertisements: let protocol 112 (VRRP) out in this node's firewall", n)
	}
}
