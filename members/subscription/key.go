package subscription

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/keepvip/keepvip/internal/base/auth"
)

// The labels of HKDF (RFC 5869) keep what is made with this key apart from what the same secret is used for elsewhere.
const (
	labelMAC = "keepvip followers v1 mac"
	labelID  = "keepvip followers v1 id"

	idLen      = 4
	macLen     = sha256.Size
	trailerLen = idLen + macLen
)

// NewKey makes the key of the messages of the followers' secret, which is derived from that of the cluster.
func NewKey(secret []byte) (auth.Key, error) {
	key, err := auth.Derive(secret, labelMAC, labelID, idLen)
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
	sum := key.Sum(b[start:], []byte(key.ID))
	return append(append(b, key.ID...), sum...), nil
}

// Parse reads a message, once the key that it names has shown that it is genuine. by is that key, nil for a message that no key has signed: that
// one anybody can make. The error is always a *PacketError.
func Parse(b []byte, keys []auth.Key) (m Message, by *auth.Key, err error) {
	end, err := checkHeader(b)
	if err != nil {
		return Message{}, nil, err
	}
	if len(b) > end {
		id, code := b[end:end+idLen], b[end+idLen:]
		i := slices.IndexFunc(keys, func(k auth.Key) bool { return k.ID == string(id) })
		if i < 0 {
			return Message{}, nil, refused(RejectKey)
		}
		if !hmac.Equal(keys[i].Sum(b[:end], id), code) {
			return Message{}, nil, refused(RejectMAC)
		}
		by = &keys[i]
	}
	m, err = parse(b)
	return m, by, err
}
