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
	// patience is how long a holder that is fit is asked, which an own priority above the holder's does not make urgent: a holder that is only slow
	// would answer beside the one that takes the address by plain VRRP.
	patience = 5 * time.Second
	// giveUpFor is how long a holder that does not answer is left to plain VRRP.
	giveUpFor = 5 * time.Second
	// otherTime is how long another node that was given the address, or is to have it, is waited for.
	otherTime = time.Second
)

// retries are the pauses after each REQUEST. After the last one the node gives up, or is patient.
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

// requester is what a node knows that may want the address, and how far it is with asking for it. It is told of the holder, and knows no other
// member. What it returns, the Machine does.
type requester struct {
	serial uint64 // of Confirms and nonces: none is used twice in a session

	phase phase
	until time.Time // the phase ends by itself
	id    uint64    // of the Confirm

	looked  time.Time // when the last Confirm was asked for
	looking bool      // it is not answered

	from    netip.Addr // the holder, of this session and epoch
	session uint64
	epoch   uint64
	begun   time.Time // of asking
	asked   []request // as many of the last ones as there are retries

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

// situation is what a requester has to know of its node and of the others.
type situation struct {
	address  netip.Addr // own
	priority uint8      // own
	ready    bool       // this node is Backup, and fit
	passive  bool
	within   time.Duration // for how long after its REQUEST a GRANT may be taken

	preempt      bool          // a fit holder of lower priority is asked, too
	preemptDelay time.Duration // for how long it has to have been one
	recovered    time.Time     // nobody asks before: there was an outage; zero: there was none

	holder *Member // nil: none is known
	asked  *Member // the one that the requester is about, if it is known any more
}

// follow forgets what another state has made void; serial goes on.
func (t *requester) follow(s vrrp.State) {
	if s != vrrp.Backup {
		*t = requester{serial: t.serial}
	}
}

func (t *requester) next() uint64 {
	t.serial++
	return t.serial
}

// seek does what is due towards having the address: it returns a Confirm, a REQUEST, or nil.
func (t *requester) seek(now time.Time, s situation) Action {
	h := t.wanted(now, s)
	if h == nil {
		t.phase, t.until = idle, time.Time{}
		return nil
	}
	if !t.about(h) {
		t.from, t.session, t.epoch, t.asked = h.Address, h.Session, h.Peer.Epoch, nil
		t.phase = idle
	}
	switch due := !now.Before(t.until); {
	case t.phase == idle, due && (t.phase == pausing || t.phase == gaveUp):
		return t.confirm(now)
	case due && t.phase == confirming:
		t.pause(now)
	case due && t.phase == asking:
		return t.ask(now, s.within)
	}
	return nil
}

// about tells whether o is the one that is asked, and has not become Active once more.
func (t *requester) about(o *Member) bool {
	return t.from == o.Address && t.session == o.Session && t.epoch == o.Peer.Epoch
}

// wanted is the holder that this node should ask now; nil if there is none.
func (t *requester) wanted(now time.Time, s situation) *Member {
	t.wake = time.Time{}
	t.watchHolder(now, s)
	h := s.holder
	if !s.ready || s.passive {
		return nil
	}
	if h == nil {
		return t.granting(now, s.asked)
	}
	wait := later(s.recovered, t.other)
	switch {
	case !t.outranking.IsZero():
		wait = later(wait, t.outranking.Add(s.preemptDelay))
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
func (t *requester) granting(now time.Time, asked *Member) *Member {
	if t.phase != asking || now.Before(t.other) || asked == nil || !t.about(asked) {
		return nil
	}
	return asked
}

// watchHolder notes since when the holder is one that this node outranks, or one that waits for another.
func (t *requester) watchHolder(now time.Time, s situation) {
	h := s.holder
	since(&t.outranking, now, h != nil && h.Peer.Fit && h.Peer.Priority < s.priority && s.preempt && s.ready)
	since(&t.reserved, now, h != nil && h.gives() && h.Peer.For.IsValid() && h.Peer.For != s.address)
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

// defers tells whether that holder, of lower priority, is followed for now: somebody is about to be given the address.
func (t *requester) defers(now time.Time, holder netip.Addr) bool {
	switch {
	case now.Before(t.other):
		return true
	case !t.reserved.IsZero():
		return now.Sub(t.reserved) < otherTime
	}
	return t.from == holder && (t.phase == confirming || t.phase == pausing || t.phase == asking)
}

// deadline is when seek has something to do by itself.
func (t *requester) deadline() time.Time {
	if t.phase != idle {
		return t.until
	}
	return t.wake
}

// confirm has one look at a time made, however often the holder changes: an attacker can invent one with each packet. A look is about
// this node, so that the one that is under way answers for the next holder, too.
func (t *requester) confirm(now time.Time) Action {
	over, again := t.looked.Add(confirmTime), t.looked.Add(retryConfirm)
	switch {
	case t.looking && now.Before(over):
		t.phase, t.until = confirming, over
	case now.Before(again):
		t.phase, t.until = pausing, again
	default:
		t.phase, t.until, t.id = confirming, now.Add(confirmTime), t.next()
		t.looked, t.looking = now, true
		return Confirm{ID: t.id}
	}
	return nil
}

func (t *requester) pause(now time.Time) {
	t.phase, t.until = pausing, now.Add(retryConfirm)
}

func (t *requester) confirmed(now time.Time, c Confirmed) {
	if c.ID != t.id {
		return
	}
	t.looking = false
	if t.phase != confirming {
		return
	}
	if !c.Fit {
		t.pause(now)
		return
	}
	t.phase, t.until, t.begun, t.asked = asking, now, now, nil
}

// ask sends a REQUEST, or gives up. While it is patient it asks twice in the time in which a GRANT may be taken: a slow holder answers the last
// REQUEST that it finds, and a GRANT that came too late would leave the address without a holder until that takes it back.
func (t *requester) ask(now time.Time, within time.Duration) Action {
	pause := within / 2
	if n := len(t.asked); n < len(retries) {
		pause = retries[n]
	} else if t.outranking.IsZero() || now.Sub(t.begun) >= patience {
		t.phase, t.until, t.asked = gaveUp, now.Add(giveUpFor), nil
		return nil
	} else {
		t.asked = slices.Delete(t.asked, 0, 1)
	}
	r := request{nonce: t.next(), at: now}
	t.until, t.asked = now.Add(max(pause, retries[0])), append(t.asked, r)
	return sendTransfer{Request, Transfer{To: t.from, Session: t.session, Epoch: t.epoch, Nonce: r.nonce}}
}

// granted takes what was asked for, if it was asked for just now: an older GRANT may have been taken back. The message is for this run of
// this node; within is for how long after its REQUEST a GRANT may be taken.
func (t *requester) granted(now time.Time, r Received, within time.Duration) Action {
	d := r.Message.Transfer
	mine := t.phase == asking && r.Source == t.from && r.Message.Session == t.session && d.Epoch == t.epoch
	i := slices.IndexFunc(t.asked, func(q request) bool { return q.nonce == d.Nonce })
	if !mine || i < 0 {
		return nil
	}
	until := t.asked[i].at.Add(within)
	if !now.Before(until) {
		return nil
	}
	t.phase, t.asked = idle, nil
	return Take{From: r.Source, Until: until}
}

// grantedAnother waits for the one that was given the address at that time.
func (t *requester) grantedAnother(at time.Time) { t.other = at.Add(otherTime) }

// later is the later of two times.
func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
