package members

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"net/netip"
)

// The labels of HKDF (RFC 5869) keep what is made with this key apart from what the same secret is used for elsewhere.
const (
	labelMAC = "keepvip members v1 mac"
	labelID  = "keepvip members v1 id"

	minSecret = 32
	maxSecret = 64

	idLen      = 4
	macLen     = sha256.Size
	trailerLen = idLen + macLen
)

// Key authenticates messages by HMAC-SHA-256. Its id comes from the secret too: two keys can be told apart while one
// is being replaced by the other.
type Key struct {
	id  [idLen]byte
	mac []byte
}

// NewKey derives a Key from a shared secret of 32 to 64 random bytes.
func NewKey(secret []byte) (Key, error) {
	if n := len(secret); n < minSecret || n > maxSecret {
		return Key{}, fmt.Errorf("members: key of %d bytes, want %d to %d random bytes", n, minSecret, maxSecret)
	}
	mac, err := hkdf.Key(sha256.New, secret, nil, labelMAC, sha256.Size)
	if err != nil {
		return Key{}, fmt.Errorf("members: derive the key: %w", err)
	}
	id, err := hkdf.Key(sha256.New, secret, nil, labelID, idLen)
	if err != nil {
		return Key{}, fmt.Errorf("members: derive the key's id: %w", err)
	}
	return Key{id: [idLen]byte(id), mac: mac}, nil
}

// sum authenticates a message and where it comes from, which the network could change.
func (k Key) sum(message []byte, source netip.Addr) []byte {
	h := hmac.New(sha256.New, k.mac)
	from := source.WithZone("").As16()
	h.Write(from[:])
	h.Write(message)
	h.Write(k.id[:])
	return h.Sum(nil)
}
