package members

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/internal/base/auth"
	"github.com/keepvip/keepvip/members/envelope"
	"github.com/keepvip/keepvip/members/pulse"
)

// NewKey derives a key from a shared secret of 32 to 64 random bytes. Its id comes from the secret too: two keys can be told
// apart while one is being replaced by the other.
func NewKey(secret []byte) (auth.Key, error) {
	key, err := auth.Derive(secret, "keepvip members v1")
	if err != nil {
		return auth.Key{}, fmt.Errorf("members: %w", err)
	}
	return key, nil
}

// covered is what a code authenticates: a message, where it comes from, which the network could change, and the key's id.
func covered(message []byte, id string, source netip.Addr) [][]byte {
	from := source.WithZone("").As16()
	return [][]byte{from[:], message, []byte(id)}
}

// AppendSigned is [Message.Append], for a message that is sent from source, with the key's authentication code behind it if
// there is a key.
func (m Message) AppendSigned(b []byte, sequence uint64, key *auth.Key, source netip.Addr) ([]byte, error) {
	start := len(b)
	b, err := m.Append(b, sequence)
	if err != nil || key == nil {
		return b, err
	}
	return key.AppendTrailer(b, covered(b[start:], key.ID, source)...), nil
}

// Auth signs and verifies the messages of a whole process, with [NewKey]'s keys. Without any, and in a mode that does not enforce
// them, it takes whatever is well-formed. Safe for concurrent use; whoever verifies does not hold up whoever signs.
type Auth struct{ *auth.Keyring[sender] }

// sender has its own sequence. Only the holders of a key can add one.
type sender struct {
	source netip.Addr // with its zone, if it has one
	group  netip.Addr
}

// NewAuth makes an Auth without keys, whose time is clock's.
func NewAuth(clock *auth.Clock) *Auth { return &Auth{auth.NewKeyring[sender](clock)} }

// sign appends m, as sent from source. Its sequence is the time in nanoseconds.
func (a *Auth) sign(b []byte, m Message, source netip.Addr, now time.Time) ([]byte, error) {
	key, sequence := a.Next(now, func(t time.Time) uint64 { return uint64(max(t.UnixNano(), 0)) })
	return m.AppendSigned(b, sequence, key, source)
}

// trust is what the keys say of a message that is taken.
type trust struct {
	signed bool   // by one of them, and not too long ago
	doubt  Reason // why it would be refused if the mode were [auth.Enforce]; empty if it would not
}

// verify reads a message that came from source at the time at; a zone of source tells senders on different links apart. The error is
// always an *envelope.PacketError; a message that is refused leaves no trace.
func (a *Auth) verify(b []byte, source netip.Addr, at time.Time) (m Message, t trust, err error) {
	cfg := a.Config()
	if len(cfg.Keys) == 0 {
		m, _, err = Parse(b)
		return m, t, err
	}
	if m, err = a.strict(b, source, at); err == nil || cfg.Mode == auth.Enforce {
		t.signed = err == nil
		return m, t, err
	}
	var refused *envelope.PacketError
	if errors.As(err, &refused) && (cfg.Mode == auth.Permissive || refused.Reason != RejectUnsigned) {
		t.doubt = refused.Reason
	}
	m, _, err = Parse(b)
	return m, t, err
}

// strict reads a message that a key was used for.
func (a *Auth) strict(b []byte, source netip.Addr, at time.Time) (Message, error) {
	_, end, err := open(b)
	if err != nil {
		return Message{}, err
	}
	if err := a.genuine(b, end, source); err != nil {
		return Message{}, err
	}
	m, sequence, err := Parse(b)
	if err != nil {
		return Message{}, err
	}
	if err := a.fresh(sender{source, m.Peer.Group}, sequence, at); err != nil {
		return Message{}, err
	}
	return m, nil
}

// fresh tells whether a genuine message of a sender is new.
func (a *Auth) fresh(s sender, sequence uint64, at time.Time) error {
	made := time.Unix(0, int64(min(sequence, 1<<63-1)))
	switch verdict, by := a.Judge(s, sequence, made, at, true); verdict {
	case auth.Repeated:
		return &envelope.PacketError{Reason: RejectReplay}
	case auth.Stale:
		return &envelope.PacketError{Reason: RejectStale, Got: int(by / time.Second), Want: int(a.Config().Window / time.Second)}
	}
	return nil
}

// signPulse appends what members say about beats, as sent from source. Its sequence is as in sign.
func (a *Auth) signPulse(b []byte, m pulse.Message, source netip.Addr, now time.Time) []byte {
	key, sequence := a.Next(now, func(t time.Time) uint64 { return uint64(max(t.UnixNano(), 0)) })
	start := len(b)
	b = m.Append(b, sequence)
	if key == nil {
		return b
	}
	return key.AppendTrailer(b, covered(b[start:], key.ID, source)...)
}

// verifyPulse is verify for these messages, whose sender has one sequence for them, and no group.
func (a *Auth) verifyPulse(b []byte, source netip.Addr, at time.Time) (pulse.Message, error) {
	m, sequence, err := pulse.Parse(b)
	cfg := a.Config()
	if err != nil || len(cfg.Keys) == 0 || cfg.Mode != auth.Enforce {
		return m, err
	}
	_, end, err := pulse.Extent(b)
	if err != nil {
		return m, err
	}
	if err := a.genuine(b, end, source); err != nil {
		return m, err
	}
	return m, a.fresh(sender{source: source}, sequence, at)
}

// genuine tells whether the code behind the fields of a message, which end there, was made with one of the keys.
func (a *Auth) genuine(b []byte, end int, source netip.Addr) error {
	if len(b) == end {
		return &envelope.PacketError{Reason: RejectUnsigned}
	}
	id, code := b[end:end+auth.IDLen], b[end+auth.IDLen:]
	switch a.Genuine(id, code, covered(b[:end], string(id), source)...) {
	case auth.UnknownKey:
		return &envelope.PacketError{Reason: RejectKey}
	case auth.Forged:
		return &envelope.PacketError{Reason: RejectMAC}
	}
	return nil
}

// KeyID is the id of the key that a message says it is signed with, as [NewKey] makes it; "" for one that is not signed, or that is no message.
// It says nothing about whether the code is right.
func KeyID(b []byte) string {
	_, end, err := open(b)
	if err != nil || len(b) == end {
		return ""
	}
	return string(b[end : end+auth.IDLen])
}
