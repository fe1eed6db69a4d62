package vrrp

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// The trailer of draft-cassen-vrrp-auth-hmac, which follows the VRRP message:
//
//	type (1)   key id   reserved (2)
//	seconds (4)
//	fraction (2)        counter (2)
//	the first 16 bytes of HMAC-SHA-256
const (
	trailerLen   = 28
	trailerType  = 1
	macLen       = 16
	trailerFixed = trailerLen - macLen

	minSecret = 32
	maxSecret = 64
)

// Key is a shared secret for authenticated advertisements.
type Key struct {
	ID     uint8  // tells keys apart while they are being changed
	Secret []byte // 32 to 64 random bytes
}

// Validate reports a secret of the wrong length.
func (k Key) Validate() error {
	if n := len(k.Secret); n < minSecret || n > maxSecret {
		return fmt.Errorf("vrrp: key %d has %d bytes, want %d to %d random bytes", k.ID, n, minSecret, maxSecret)
	}
	return nil
}

// mac authenticates a message and the fixed part of its trailer. It covers the source address, which the network could
// change, and not the checksum, which depends on it.
func (k Key) mac(message, fixed []byte, src netip.Addr) [macLen]byte {
	var head [20]byte
	head[0], head[1], head[2] = uint8(familyOf(src)), message[0]>>4, message[1]
	copy(head[4:], src.AsSlice())

	h := hmac.New(sha256.New, k.Secret)
	h.Write(head[:])
	h.Write(message[:6])
	h.Write([]byte{0, 0})
	h.Write(message[headerLen:])
	h.Write(fixed)
	h.Write(make([]byte, macLen))
	return [macLen]byte(h.Sum(nil))
}

// Signer appends authentication trailers. All Virtual Routers of a process may share one; it is safe for concurrent use.
type Signer struct {
	key   Key
	clock steady

	mu   sync.Mutex // guards last
	last stamp
}

// NewSigner returns a Signer for key. now, from time.Now, is when the wall clock is read; afterwards the Signer follows
// the monotonic clock. The error is [Key.Validate]'s.
func NewSigner(key Key, now time.Time) (*Signer, error) {
	if err := key.Validate(); err != nil {
		return nil, err
	}
	return &Signer{key: Key{ID: key.ID, Secret: slices.Clone(key.Secret)}, clock: steady{now}}, nil
}

// Append appends a, and its trailer, to b: as [Advertisement.Append], and with the same errors. Over IPv6 the checksum
// covers the trailer, over IPv4 it does not.
func (s *Signer) Append(b []byte, a Advertisement, src, dst netip.Addr, form ChecksumForm, now time.Time) ([]byte, error) {
	start := len(b)
	b, err := a.Append(b, src, dst, form)
	if err != nil {
		return b, err
	}
	end := len(b)
	b = append(b, trailerType, s.key.ID, 0, 0)
	b = binary.BigEndian.AppendUint64(b, uint64(s.next(now)))
	mac := s.key.mac(b[start:end], b[end:], src)
	b = append(b, mac[:]...)
	if src.Is6() {
		whole := b[start:]
		whole[6], whole[7] = 0, 0
		binary.BigEndian.PutUint16(whole[6:], ^fold(sum(pseudo(src, dst, len(whole)), whole)))
	}
	return b, nil
}

// next returns a stamp greater than any before.
func (s *Signer) next(now time.Time) stamp {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(stampOf(s.clock.at(now)), s.last+1)
	return s.last
}
