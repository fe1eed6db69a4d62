package subscription

import (
	"fmt"

	"github.com/keepvip/keepvip/internal/base/auth"
	"github.com/keepvip/keepvip/members/envelope"
)

// NewKey makes the key of the messages of the followers' secret, which is derived from that of the cluster.
func NewKey(secret []byte) (auth.Key, error) {
	key, err := auth.Derive(secret, "keepvip followers v1")
	if err != nil {
		return auth.Key{}, fmt.Errorf("subscription: %w", err)
	}
	return key, nil
}

// Append appends the message, with the key's authentication code behind it if there is a key.
func (m Message) Append(b []byte, key *auth.Key) ([]byte, error) {
	start := len(b)
	b, err := m.append(b)
	if err != nil || key == nil {
		return b, err
	}
	return key.AppendTrailer(b, b[start:], []byte(key.ID)), nil
}

// Parse reads a message, once the key that it names has shown that it is genuine. by is that key, nil for a message that no key has signed: that
// one anybody can make. The error is always a *envelope.PacketError.
func Parse(b []byte, keys []auth.Key) (m Message, by *auth.Key, err error) {
	_, end, err := open(b)
	if err != nil {
		return Message{}, nil, err
	}
	if len(b) > end {
		id, code := b[end:end+auth.IDLen], b[end+auth.IDLen:]
		var verdict auth.Judgement
		switch by, verdict = auth.Find(keys, id, code, b[:end], id); verdict {
		case auth.UnknownKey:
			return Message{}, nil, envelope.Refused(envelope.RejectKey)
		case auth.Forged:
			return Message{}, nil, envelope.Refused(envelope.RejectMAC)
		}
	}
	m, err = parse(b)
	return m, by, err
}
