package members

import (
	"net/netip"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/replay"
)

// Auth seals and opens the messages of a whole process. Safe for concurrent use; whoever opens does not hold up whoever
// seals.
type Auth struct {
	clock  *replay.Clock
	sealer *Sealer

	mu     sync.Mutex // guards opener
	opener *Opener
}

// NewAuth makes an Auth without keys, whose time is clock's.
func NewAuth(clock *replay.Clock) *Auth {
	return &Auth{clock: clock, sealer: NewSealer(nil), opener: NewOpener(nil, replay.Default)}
}

// Set changes the keys, and forgets no sender. Messages are made with sign, if it is not nil; accepted is what was made
// with one of accept within width of our time, or with none of them everything.
func (a *Auth) Set(sign *Key, accept []Key, width time.Duration) {
	a.sealer.SetKey(sign)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.opener.Set(accept, width)
}

func (a *Auth) seal(b []byte, m Message, source netip.Addr) ([]byte, error) {
	return a.sealer.Append(b, m, source, a.clock.At(time.Now()))
}

func (a *Auth) open(b []byte, source netip.Addr) (Message, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	return a.opener.Open(b, source, now, a.clock.At(now))
}
