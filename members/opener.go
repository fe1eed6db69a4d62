package members

import (
	"crypto/hmac"
	"net/netip"
	"slices"
	"time"
)

// Window is how far a new sender's clock may be from ours, and how old a message may be that was captured and is played
// to a node that has just started.
const Window = 30 * time.Second

// Opener reads what a Sealer has made. With keys it accepts only messages that were made with one of them and that it
// has not had before; without, it accepts whatever is well-formed. It belongs to one goroutine.
//
// A sender that is not known yet must have a stamp within [Window] of our wall clock. From one that is known only a
// growing stamp is wanted: a node whose clock was stepped, or that was paused, remains a member.
type Opener struct {
	keys []Key
	last map[sender]heard
}

// sender has its own sequence. Only the holders of a key can add one.
type sender struct {
	source netip.Addr // with its zone, if it has one
	group  netip.Addr
}

type heard struct {
	stamp uint64
	at    time.Time
}

// NewOpener makes an Opener that accepts any of the keys; none: no authentication.
func NewOpener(keys []Key) *Opener {
	return &Opener{keys: slices.Clone(keys), last: map[sender]heard{}}
}

// SetKeys changes the keys; what is known of the senders remains.
func (o *Opener) SetKeys(keys []Key) { o.keys = slices.Clone(keys) }

// Open reads a message that came from source at now; a zone of source tells senders on different links apart. The error is always a *PacketError; a message that is refused
// leaves no trace.
func (o *Opener) Open(b []byte, source netip.Addr, now time.Time) (Message, error) {
	if len(o.keys) > 0 {
		if err := o.authenticate(b, source); err != nil {
			return Message{}, err
		}
	}
	m, stamp, err := Parse(b)
	if err != nil {
		return Message{}, err
	}
	if len(o.keys) > 0 {
		if err := o.fresh(sender{source, m.Facts.Group}, stamp, now); err != nil {
			return Message{}, err
		}
	}
	return m, nil
}

func (o *Opener) authenticate(b []byte, source netip.Addr) error {
	end, err := checkHeader(b)
	if err != nil {
		return err
	}
	if len(b) == end {
		return &PacketError{Reason: RejectUnsigned}
	}
	i := slices.IndexFunc(o.keys, func(k Key) bool { return string(k.id[:]) == string(b[end:end+idLen]) })
	if i < 0 {
		return &PacketError{Reason: RejectKey}
	}
	if !hmac.Equal(o.keys[i].sum(b[:end], source), b[end+idLen:]) {
		return &PacketError{Reason: RejectMAC}
	}
	return nil
}

// fresh refuses what was heard before. A sender is forgotten when whatever it has said last is too old for a new sender.
func (o *Opener) fresh(s sender, stamp uint64, now time.Time) error {
	last, known := o.last[s]
	switch {
	case known && stamp <= last.stamp:
		return &PacketError{Reason: RejectReplay}
	case !known && distance(stamp, now) > Window:
		return &PacketError{Reason: RejectStale, Got: int(distance(stamp, now) / time.Second), Want: int(Window / time.Second)}
	}
	if !known {
		o.forget(now)
	}
	o.last[s] = heard{stamp: stamp, at: now}
	return nil
}

func (o *Opener) forget(now time.Time) {
	for s, h := range o.last {
		// A stamp ahead of our clock would be accepted anew until our clock is Window beyond it.
		if now.Sub(h.at) > Window && int64(h.stamp) < now.Add(-Window).UnixNano() {
			delete(o.last, s)
		}
	}
}

func distance(stamp uint64, now time.Time) time.Duration {
	if stamp > 1<<63-1 {
		return 1<<63 - 1
	}
	return (time.Duration(int64(stamp)) - time.Duration(now.UnixNano())).Abs()
}
