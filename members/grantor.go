package members

import (
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/vrrp"
)

const (
	// collectTime is how long the holder waits for others that ask too, so that it can choose. For one of higher priority it waits longer, a quarter of
	// grantWithin: that one would take the address from whoever has it, and so move it a second time.
	collectTime = 10 * time.Millisecond
	// forwardTime is how long a node that has passed the address on goes on forwarding at most.
	forwardTime = 300 * time.Millisecond
)

// grantor is what a node knows that holds the address, or has passed it on: who asks for it, and who was granted it. What it returns, the
// Machine does.
type grantor struct {
	asked  []ask
	decide time.Time // when to choose; zero when nobody has asked
	latest time.Time // the same while one of higher priority has not asked
	look   time.Time // when to look next: one of these two
	chosen *chosen
	passed *passed
}

// ask is one REQUEST that could be granted.
type ask struct {
	from     netip.Addr
	session  uint64
	priority uint8
	nonce    uint64
}

// chosen is the one to whom the address is to be passed on.
type chosen struct {
	ask
	at time.Time
}

// passed is a GRANT that was given.
type passed struct {
	to       netip.Addr
	session  uint64
	epoch    uint64 // our own, that ended
	at       time.Time
	released bool
}

// offer is the terms on which this node passes the address on.
type offer struct {
	active   bool // it is the holder
	passive  bool // it takes in no new REQUEST
	fit      bool // it gives the address to none but those of higher priority
	priority uint8
	only     netip.Addr    // unfit, it gives the address to none but this one; the zero Addr: to any
	within   time.Duration // see grantWithin
}

// suits tells whether one that asks, or could, may have the address: from a holder that wants to give it away, or has the lower priority.
func (o offer) suits(a netip.Addr, priority uint8) bool {
	if !o.fit {
		return !o.only.IsValid() || o.only == a
	}
	return priority > o.priority
}

func (h *grantor) deadline() time.Time {
	if h.holdsOn() {
		return h.passed.at.Add(forwardTime)
	}
	if h.decide.IsZero() {
		return time.Time{}
	}
	return h.look
}

// follow forgets what another state has made void. A Backup that has passed the address on remembers it.
func (h *grantor) follow(s vrrp.State) {
	if s != vrrp.Active {
		h.asked, h.decide, h.chosen = nil, time.Time{}, nil
	}
	if s != vrrp.Backup {
		h.passed = nil
	}
}

// grantWithin is how long after a REQUEST its GRANT may be taken, and after the first GRANT another be given: two thirds of
// the lease in all. Before the lease is over nobody else answers: neither the one that has passed the address on, nor a
// third that may have heard its last advertisement a whole interval, a third of the lease, earlier. So two never answer,
// however late a message comes.
func grantWithin(lease time.Duration) time.Duration { return lease / 3 }

// requested takes in a REQUEST that is for this run and epoch of this node. It returns the GRANT once more where the sender has it already, and
// has not heard it; else nil.
func (h *grantor) requested(now time.Time, r Received, o offer) Action {
	p := &r.Message.Peer
	a := ask{from: r.Source, session: r.Message.Session, priority: p.Priority, nonce: r.Message.Transfer.Nonce}
	if h.passed != nil {
		return h.repeat(now, a, o.within)
	}
	if !o.active || o.passive || !p.Fit || p.State != vrrp.Backup || !o.suits(a.from, a.priority) {
		return nil
	}
	h.asked = slices.DeleteFunc(h.asked, func(b ask) bool { return b.from == a.from })
	h.asked = append(h.asked, a)
	if len(h.asked) > maxMembers { // the one that ranks lowest would not be chosen
		lowest := slices.MinFunc(h.asked, rank).from
		h.asked = slices.DeleteFunc(h.asked, func(b ask) bool { return b.from == lowest })
	}
	if h.decide.IsZero() {
		h.decide, h.latest = now.Add(min(collectTime, o.within/4)), now.Add(o.within/4)
		h.look = h.decide
	}
	return nil
}

// repeat gives the same node the GRANT again.
func (h *grantor) repeat(now time.Time, a ask, within time.Duration) Action {
	p := h.passed
	if a.from == p.to && a.session == p.session && now.Sub(p.at) < within {
		return sendTransfer{Grant, Transfer{To: a.from, Session: a.session, Epoch: p.epoch, Nonce: a.nonce}}
	}
	return nil
}

// grantWhenDue chooses one of those that have asked when it is time, and returns the Pass, or nil.
func (h *grantor) grantWhenDue(now time.Time, o offer, others []Member) Action {
	if !o.active || h.decide.IsZero() || !h.due(now, o, others) {
		return nil
	}
	h.decide, h.chosen = time.Time{}, nil
	asked := slices.DeleteFunc(h.asked, func(a ask) bool { return !o.suits(a.from, a.priority) })
	h.asked = nil
	if len(asked) == 0 {
		return nil
	}
	a := slices.MaxFunc(asked, rank)
	h.chosen = &chosen{a, now}
	return Pass{To: a.from}
}

// due tells whether to choose now: when all have asked that could, or it is time.
func (h *grantor) due(now time.Time, o offer, others []Member) bool {
	if now.Before(h.decide) {
		return h.allAsked(o, others)
	}
	h.look = h.latest
	highest := func(m Member) bool {
		return !slices.ContainsFunc(h.asked, func(a ask) bool { return a.priority >= m.Peer.Priority })
	}
	return !now.Before(h.latest) || !h.awaits(o, others, highest)
}

// rank puts the one that is to have the address last.
func rank(a, b ask) int {
	if outranks(a.priority, a.from, b.priority, b.from) {
		return 1
	}
	return -1
}

// allAsked tells that none of the others could ask that has not.
func (h *grantor) allAsked(o offer, others []Member) bool {
	return !h.awaits(o, others, func(Member) bool { return true })
}

// awaits tells whether one of these others could ask, and has not.
func (h *grantor) awaits(o offer, others []Member, which func(Member) bool) bool {
	return slices.ContainsFunc(others, func(m Member) bool {
		candidate := m.ready() && o.suits(m.Address, m.Peer.Priority) && which(m)
		return candidate && !slices.ContainsFunc(h.asked, func(a ask) bool { return a.from == m.Address })
	})
}

// grant gives the address to the one that was chosen, at the end of that epoch, and returns the GRANT; nil: nobody was. The time of the choice
// counts, since when no advertisement has left.
func (h *grantor) grant(epoch uint64) Action {
	c := h.chosen
	if c == nil {
		return nil
	}
	h.chosen = nil
	h.passed = &passed{to: c.from, session: c.session, epoch: epoch, at: c.at}
	return sendTransfer{Grant, Transfer{To: c.from, Session: c.session, Epoch: epoch, Nonce: c.nonce}}
}

// heardRequester lets go when the requester says that it is Active: by then it has announced.
func (h *grantor) heardRequester(source netip.Addr, s vrrp.State) Action {
	if h.holdsOn() && source == h.passed.to && s == vrrp.Active {
		return h.release(true)
	}
	return nil
}

// releaseWhenDue lets go when the requester had time enough.
func (h *grantor) releaseWhenDue(now time.Time) Action {
	if h.holdsOn() && now.Sub(h.passed.at) >= forwardTime {
		return h.release(false)
	}
	return nil
}

// holdsOn tells that the address was passed on, and not let go of yet.
func (h *grantor) holdsOn() bool { return h.passed != nil && !h.passed.released }

func (h *grantor) release(heard bool) Action {
	h.passed.released = true
	return Release{To: h.passed.to, Heard: heard}
}
