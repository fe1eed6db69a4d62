package members

import (
	"net/netip"
	"sync"
	"time"
)

// Auth seals and opens the messages of a whole process. Safe for concurrent use; whoever opens does not hold up whoever
// seals.
type Auth struct {
	sealer *Sealer

	mu     sync.Mutex // guards opener
	opener *Opener
}

// NewAuth makes an Auth without keys.
func NewAuth() *Auth { return &Auth{sealer: NewSealer(nil), opener: NewOpener(nil)} }

// Set changes the keys, and forgets no sender. Messages are made with sign, if it is not nil; accepted is what was made
// with one of accept, or with none of them everything.
func (a *Auth) Set(sign *Key, accept []Key) {
	a.sealer.SetKey(sign)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.opener.SetKeys(accept)
}

func (a *Auth) seal(b []byte, m Message, source netip.Addr) ([]byte, error) {
	return a.sealer.Append(b, m, source, time.Now())
}

func (a *Auth) open(b []byte, source netip.Addr) (Message, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.opener.Open(b, source, time.Now())
}
