package members

import (
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/vrrp"
)

const (
	// confirmTime is how long a probe may take, and no answer to Confirm means no.
	confirmTime = 2 * time.Second
	// retryConfirm is the pause after a probe that failed, and the least time from the beginning of one to that of the next.
	retryConfirm = 250 * time.Millisecond
	// giveUpFor is how long a holder that does not answer is left to plain VRRP.
	giveUpFor = 5 * time.Second
	// otherTime is how long another node that was given the address, or is to have it, is waited for.
	otherTime = time.Second
)

// retries are the pauses after each REQUEST; after the last one the node gives up.
var retries = [...]time.Duration{
	20 * time.Millisecond, 40 * time.Millisecond, 80 * time.Millisecond, 160 * time.Millisecond, 200 * time.Millisecond,
}

// phase is how far a node is that wants the address.
type phase uint8

const (
	idle       phase = iota
	confirming       // waits for a probe's result
	pausing          // the probe failed, or the last one has just been: not now
	asking           // waits for a GRANT
	gaveUp           // the holder does not answer
)

// requester is what a node knows that may want the address.
type requester struct {
	phase phase
	until time.Time // the phase ends by itself
	id    uint64    // of the Confirm

	looked  time.Time // when the last Confirm was asked for
	looking bool      // it is not answered

	from    netip.Addr // the holder, of this session and epoch
	session uint64
	epoch   uint64
	asked   []request

	outranking time.Time // since when the holder, though fit, has a lower priority; zero if it has not
	reserved   time.Time // since when the holder waits for somebody else to ask; zero if it does not
	other      time.Time // until then somebody else, who was given the address, is waited for
	wake       time.Time // when an idle node has to look again; zero for never
}

// request is a REQUEST that may still be granted.
type request struct {
	nonce uint64
	at    time.Time
}

func (t *requester) follow(s vrrp.State) {
	if s != vrrp.Backup {
		*t = requester{}
	}
}

// seek does what is due towards having the address.
func (m *Machine) seek(now time.Time) {
	t := &m.requester
	h := m.wanted(now)
	if h == nil {
		t.phase, t.until = idle, time.Time{}
		return
	}
	if t.from != h.Address || t.session != h.Session || t.epoch != h.Peer.Epoch {
		t.from, t.session, t.epoch, t.asked = h.Address, h.Session, h.Peer.Epoch, nil
		t.phase = idle
	}
	switch due := !now.Before(t.until); {
	case t.phase == idle, due && (t.phase == pausing || t.phase == gaveUp):
		m.confirm(now)
	case due && t.phase == confirming:
		m.pause(now)
	case due && t.phase == asking:
		m.ask(now)
	}
}

// wanted is the holder that this node should ask now; nil if there is none.
func (m *Machine) wanted(now time.Time) *Member {
	t, h := &m.requester, m.holder(now)
	t.wake = time.Time{}
	m.watchHolder(now, h)
	if m.self.State != vrrp.Backup || !m.self.Fit || m.cfg.Passive {
		return nil
	}
	if h == nil {
		return m.granting(now)
	}
	wait := later(m.recoverAt(), t.other)
	switch {
	case !t.outranking.IsZero():
		wait = later(wait, t.outranking.Add(m.cfg.PreemptDelay))
	case !h.gives(), !t.reserved.IsZero():
		return nil
	}
	if now.Before(wait) {
		t.wake = wait
		return nil
	}
	return h
}

// granting is the holder that was asked, when it holds the address no more and nobody else does: its GRANT may be lost.
func (m *Machine) granting(now time.Time) *Member {
	t := &m.requester
	o := m.table.find(t.from)
	if t.phase != asking || now.Before(t.other) || o == nil || o.Session != t.session || o.Peer.Epoch != t.epoch {
		return nil
	}
	return o
}

// watchHolder notes since when the holder is one that this node outranks, or one that waits for another.
func (m *Machine) watchHolder(now time.Time, h *Member) {
	t := &m.requester
	since(&t.outranking, now, h != nil && h.Peer.Fit && h.Peer.Priority < m.self.Priority &&
		m.cfg.Preempt && m.self.Fit && m.self.State == vrrp.Backup)
	since(&t.reserved, now, h != nil && h.gives() && h.Peer.For.IsValid() && h.Peer.For != m.cfg.Address)
}

// since keeps the time from which on something is so; zero when it is not.
func since(t *time.Time, now time.Time, so bool) {
	switch {
	case !so:
		*t = time.Time{}
	case t.IsZero():
		*t = now
	}
}

// Defers tells whether an advertisement of lower priority from source, which would let this node take over, is to be
// followed instead: its sender is a member, and passing the address on is under way. Each reason ends by itself, and
// one that sends no advertisements is never deferred to.
func (m *Machine) Defers(now time.Time, source netip.Addr) bool {
	m.expire(now)
	t, h := &m.requester, m.table.find(source.WithZone(""))
	if h == nil || h.Peer.State != vrrp.Active || m.left || m.cfg.Passive {
		return false
	}
	switch {
	case m.recovering(now), now.Before(t.other):
		return true
	case !t.reserved.IsZero():
		return now.Sub(t.reserved) < otherTime
	}
	return t.from == h.Address && (t.phase == confirming || t.phase == pausing || t.phase == asking)
}

// requesterDeadline is when seek has something to do by itself.
func (m *Machine) requesterDeadline() time.Time {
	if m.requester.phase != idle {
		return m.requester.until
	}
	return m.requester.wake
}

// confirm has one look at a time made, however often the holder changes: an attacker can invent one with each packet. A look is about
// this node, so that the one that is under way answers for the next holder, too.
func (m *Machine) confirm(now time.Time) {
	t := &m.requester
	over, again := t.looked.Add(confirmTime), t.looked.Add(retryConfirm)
	switch {
	case t.looking && now.Before(over):
		t.phase, t.until = confirming, over
	case now.Before(again):
		t.phase, t.until = pausing, again
	default:
		t.phase, t.until, t.id = confirming, now.Add(confirmTime), m.next()
		t.looked, t.looking = now, true
		m.act(Confirm{ID: t.id})
	}
}

func (m *Machine) pause(now time.Time) {
	m.requester.phase, m.requester.until = pausing, now.Add(retryConfirm)
}

func (m *Machine) confirmed(now time.Time, c Confirmed) {
	t := &m.requester
	if c.ID != t.id {
		return
	}
	t.looking = false
	if t.phase != confirming {
		return
	}
	if !c.Fit {
		m.pause(now)
		return
	}
	t.phase, t.until, t.asked = asking, now, nil
}

// ask sends a REQUEST, or gives up.
func (m *Machine) ask(now time.Time) {
	t := &m.requester
	if len(t.asked) == len(retries) {
		t.phase, t.until, t.asked = gaveUp, now.Add(giveUpFor), nil
		return
	}
	r := request{nonce: m.next(), at: now}
	t.until = now.Add(retries[len(t.asked)])
	t.asked = append(t.asked, r)
	m.act(Send{m.message(Request, Transfer{To: t.from, Session: t.session, Epoch: t.epoch, Nonce: r.nonce})})
}

// granted takes what was asked for, if it was asked for just now: an older GRANT may have been taken back.
func (m *Machine) granted(now time.Time, r Received) {
	t, d := &m.requester, r.Message.Transfer
	if d.To != m.cfg.Address {
		t.other = r.arrived(now).Add(otherTime)
		return
	}
	mine := t.phase == asking && r.Source == t.from && r.Message.Session == t.session &&
		d.Session == m.cfg.Session && d.Epoch == t.epoch
	i := slices.IndexFunc(t.asked, func(q request) bool { return q.nonce == d.Nonce })
	if !mine || i < 0 {
		return
	}
	until := t.asked[i].at.Add(m.within())
	if !now.Before(until) {
		return
	}
	t.phase, t.asked = idle, nil
	m.act(Take{From: r.Source, Until: until})
}

// later is the later of two times.
func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
