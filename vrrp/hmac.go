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

	"github.com/keepvip/keepvip/internal/replay"
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

func (k Key) clone() Key { return Key{ID: k.ID, Secret: slices.Clone(k.Secret)} }

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
	clock *replay.Clock

	mu   sync.Mutex // guards what follows
	key  Key
	last sequence
}

// NewSigner returns a Signer for key whose sequence numbers are clock's. The error is [Key.Validate]'s.
func NewSigner(key Key, clock *replay.Clock) (*Signer, error) {
	s := &Signer{clock: clock}
	if err := s.SetKey(key); err != nil {
		return nil, err
	}
	return s, nil
}

// SetKey changes the key; the sequence goes on. The error is [Key.Validate]'s.
func (s *Signer) SetKey(key Key) error {
	if err := key.Validate(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = key.clone()
	return nil
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
	key, sequence := s.next(now)
	b = append(b, trailerType, key.ID, 0, 0)
	b = binary.BigEndian.AppendUint64(b, uint64(sequence))
	mac := key.mac(b[start:end], b[end:], src)
	b = append(b, mac[:]...)
	if src.Is6() {
		whole := b[start:]
		whole[6], whole[7] = 0, 0
		binary.BigEndian.PutUint16(whole[6:], ^fold(sum(pseudo(src, dst, len(whole)), whole)))
	}
	return b, nil
}

// next returns the key and a sequence number greater than any before.
func (s *Signer) next(now time.Time) (Key, sequence) {
	at := sequenceOf(s.clock.At(now))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(at, s.last+1)
	return s.key, s.last
}
