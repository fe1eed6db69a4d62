package members

import (
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/members/envelope"
	"github.com/keepvip/keepvip/members/pulse"
)

// reader is a Socket that tells whether it is read as fast as messages arrive.
type reader interface{ Behind() bool }

// Feel has a pulse take what members say about beats from now on; nil ends that.
func (h *Hub) Feel(p *pulse.Pulse) { h.pulse.Store(p) }

// meet lets the pulse know of a member that goes by beats, too.
func (h *Hub) meet(source netip.Addr, s *PeerState) {
	if p := h.pulse.Load(); p != nil && s.Fast {
		p.Meet(source, s.Group, s.Lifetime)
	}
}

// deliverPulse looks at what a member says about beats. A node that does not go by beats hears those of others, and that is no mistake of theirs.
func (h *Hub) deliverPulse(b []byte, a Arrival) {
	p := h.pulse.Load()
	if p == nil {
		return
	}
	m, err := h.auth.verifyPulse(b, a.Source.WithZone(h.link), time.Now())
	var packet *envelope.PacketError
	if errors.As(err, &packet) {
		h.reject(packet.Reason)
		return
	}
	p.Receive(a.Source, m, a.At)
}

// SendPulse sends a message about beats to the members of all groups.
func (h *Hub) SendPulse(m pulse.Message) error {
	to, somebody := h.everybody()
	if !somebody {
		return nil
	}
	h.sending.Lock()
	defer h.sending.Unlock()
	h.buf = h.auth.signPulse(h.buf[:0], m, h.source, time.Now())
	return h.sock.Send(h.buf, to...)
}

// everybody are the peers of all groups; none where one speaks to all on the link. It tells whether there is anybody.
func (h *Hub) everybody() (to []netip.Addr, somebody bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.wires {
		if len(w.peers) == 0 {
			return nil, true
		}
		to = append(to, w.to...)
	}
	slices.SortFunc(to, netip.Addr.Compare)
	return slices.Compact(to), len(to) > 0
}

// Behind tells whether a message has arrived that was not delivered yet.
func (h *Hub) Behind() bool {
	r, ok := h.sock.(reader)
	return ok && r.Behind()
}

// Gone tells all groups that listen to a member that its node is gone.
func (h *Hub) Gone(g pulse.Gone) {
	for _, w := range h.hearing(g.Source, netip.Addr{}) {
		w.put(Received{Source: g.Source, Gone: &g, At: time.Now()})
	}
}
