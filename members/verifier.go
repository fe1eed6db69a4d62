package members

import (
	"crypto/hmac"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/internal/replay"
)

// Verifier reads what a Signer has made. With keys it accepts only messages that were made with one of them and that are new
// ([replay.Window]); without, it accepts whatever is well-formed. It belongs to one goroutine.
type Verifier struct {
	keys  []Key
	width time.Duration
	heard *replay.Window[sender]
}

// sender has its own sequence. Only the holders of a key can add one.
type sender struct {
	source netip.Addr // with its zone, if it has one
	group  netip.Addr
}

// NewVerifier makes an Verifier that accepts any of the keys, in what was made within width of our time; no keys: no authentication.
func NewVerifier(keys []Key, width time.Duration) *Verifier {
	o := &Verifier{heard: replay.NewWindow[sender](width)}
	o.Set(keys, width)
	return o
}

// Set changes the keys and the width; what is known of the senders remains.
func (o *Verifier) Set(keys []Key, width time.Duration) {
	o.keys, o.width = slices.Clone(keys), width
	o.heard.SetWidth(width)
}

// Verify reads a message that came from source at the time at, when our clock showed clock; a zone of source tells senders on
// different links apart. The error is always a *PacketError; a message that is refused leaves no trace.
func (o *Verifier) Verify(b []byte, source netip.Addr, at, clock time.Time) (Message, error) {
	if len(o.keys) > 0 {
		if err := o.authenticate(b, source); err != nil {
			return Message{}, err
		}
	}
	m, sequence, err := Parse(b)
	if err != nil {
		return Message{}, err
	}
	if len(o.keys) > 0 {
		if err := o.fresh(sender{source, m.Peer.Group}, sequence, at, clock); err != nil {
			return Message{}, err
		}
	}
	return m, nil
}

func (o *Verifier) authenticate(b []byte, source netip.Addr) error {
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

// fresh refuses what was heard before, or could have been.
func (o *Verifier) fresh(s sender, sequence uint64, at, clock time.Time) error {
	p := replay.Packet{Sequence: sequence, Made: time.Unix(0, int64(min(sequence, 1<<63-1))), At: at, Clock: clock}
	switch verdict, by := o.heard.Judge(s, p); verdict {
	case replay.Repeated:
		return &PacketError{Reason: RejectReplay}
	case replay.Stale:
		return &PacketError{Reason: RejectStale, Got: int(by / time.Second), Want: int(o.width / time.Second)}
	}
	o.heard.Note(s, p)
	return nil
}
