package instance

import (
	"fmt"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

// unrenewedGrace is how long a lease is over before that counts: a starved process is late for a moment.
const unrenewedGrace = time.Second

// unrenewed is for how long a holder has had no lease, so that the fence keeps it from answering: 0 for one that has, or that passes the
// address on, which needs none. What it sends does not leave then: the process runs. With dropped it is the kernel alone that has no lease.
func (v *view) unrenewed(now time.Time, part ServiceStatus) (over time.Duration, dropped bool) {
	if v.state != election.Active || v.elector == nil || part.Passing || v.removed {
		return 0, false
	}
	end := v.elector.LeaseEnd()
	if end.Before(v.since) {
		end = v.since // it has not begun
	}
	switch over := now.Sub(end); {
	case over > unrenewedGrace:
		return over, false
	case !part.Lapsed.IsZero():
		return now.Sub(part.Lapsed), true
	}
	return 0, false
}

// silence takes back what a holder says that the fence silences, and says why instead.
func (s *Status) silence(over time.Duration, dropped bool) {
	s.Holder, s.Silent = "", true
	why, more := unrenewedBy(s.Counters.SendErrors, dropped)
	s.Code, s.Reason = why, fmt.Sprintf("SILENT: the lease has been over for %s, so the kernel keeps this node from answering", over.Round(time.Second))+more
}

// unrenewedBy is what keeps the lease of a holder from being renewed, and more about it where more is known.
func unrenewedBy(sendErrors uint64, dropped bool) (why code.Code, more string) {
	switch {
	case dropped:
		return code.NotSent, "; it has taken the advertisements, and they did not reach the fence: another nftables table drops them: look for hook egress in " +
			"nft list ruleset, and let protocol 112 (VRRP) through there"
	case sendErrors > 0:
		return code.NotSent, fmt.Sprintf("; it has refused to send %d advertisements: let protocol 112 (VRRP) out in this node's firewall", sendErrors)
	}
	return code.LeaseLapsed, ""
}
