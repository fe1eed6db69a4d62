package members

import (
	"net/netip"
	"sync"
	"time"
)

// Signer puts messages on the wire: with a sequence that grows, and with an authentication code if there is a key. One
// Signer serves all that a node sends from one address; it is safe for concurrent use.
type Signer struct {
	mu   sync.Mutex // guards what follows
	key  *Key
	last uint64
}

// NewSigner makes a Signer; without a key its messages are not authenticated.
func NewSigner(key *Key) *Signer { return &Signer{key: key} }

// SetKey changes the key from the next message on.
func (s *Signer) SetKey(key *Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = key
}

// Append appends m, as sent from source at now, to b. The sequence is that time in nanoseconds, and more than
// any before, even if that clock was set back. The error is [Message.Append]'s.
func (s *Signer) Append(b []byte, m Message, source netip.Addr, now time.Time) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(uint64(max(now.UnixNano(), 0)), s.last+1)
	start := len(b)
	b, err := m.Append(b, s.last)
	if err != nil || s.key == nil {
		return b, err
	}
	sum := s.key.sum(b[start:], source)
	b = append(b, s.key.id[:]...)
	return append(b, sum...), nil
}
