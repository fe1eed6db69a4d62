package virtualrouter

import (
	"log/slog"
	"sync"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/members"
)

// outlet sends what an elector has to say, and knows until when the last advertisement counts.
type outlet struct {
	wire    Wire
	members MembersWire // nil: there is no members' protocol
	log     *slog.Logger
	unsent  bool // the kernel has refused the newest advertisement; belongs to Run

	mu       sync.Mutex // guards leaseEnd
	leaseEnd time.Time
}

// advertise sends an advertisement, with which a lease of that length begins, if it is more than 0.
func (o *outlet) advertise(a advertise) error {
	// The lease of the kernel begins when the advertisement leaves, and this process may be frozen between that and the
	// next line: the lease must not be longer.
	began := time.Now()
	err := o.wire.Send(a.Advertisement)
	o.note(err)
	if err == nil && a.lease > 0 {
		o.lease(began.Add(a.lease))
	}
	return err
}

// note says that the kernel begins to refuse advertisements, and that it has ended: they may be a hundred a second.
func (o *outlet) note(err error) {
	switch was := o.unsent; {
	case err != nil && !was:
		o.log.Warn("the kernel refuses to send advertisements: if a firewall on this node does, let protocol 112 (VRRP) out", "error", err)
	case err != nil:
		o.log.Debug("advertisement not sent", "error", err)
	case was:
		o.log.Info("advertisements are sent again")
	}
	o.unsent = err != nil
}

// send does not fail: a message that did not leave is as one that was lost.
func (o *outlet) send(m members.Message) {
	m.Peer.Claims = m.Peer.Claims && time.Now().Before(o.leased()) // this process may have stood still
	if err := o.members.Send(m); err != nil {
		o.log.Debug("message to the members not sent", "type", m.Type.String(), "error", err)
	}
}

func (o *outlet) lease(until time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.leaseEnd = until
}

// leased is until when the last advertisement counts; the zero Time: none does.
func (o *outlet) leased() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.leaseEnd
}

// addUnsent shows what did not leave to some of the peers.
func (o *outlet) addUnsent(s *election.Status) {
	n, refused := o.wire.Unsent()
	s.Counters.SendErrors += n
	if s.State != election.Active {
		return // nothing is sent to anybody
	}
	for i := range s.Members {
		m := &s.Members[i]
		if err := refused[m.Address.WithZone("")]; err != nil && m.Note == "" {
			m.Note = "the kernel refuses to send advertisements to it: " + err.Error()
		}
	}
}
