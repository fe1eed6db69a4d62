package members

import (
	"net/netip"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/replay"
)

// Auth signs and verifies the messages of a whole process. Safe for concurrent use; whoever verifies does not hold up whoever
// signs.
type Auth struct {
	clock  *replay.Clock
	signer *Signer

	mu       sync.Mutex // guards verifier
	verifier *Verifier
}

// NewAuth makes an Auth without keys, whose time is clock's.
func NewAuth(clock *replay.Clock) *Auth {
	return &Auth{clock: clock, signer: NewSigner(nil), verifier: NewVerifier(nil, replay.Default)}
}

// Set changes the keys, and forgets no sender. Messages are made with sign, if it is not nil; accepted is what was made
// with one of accept within width of our time, or with none of them everything.
func (a *Auth) Set(sign *Key, accept []Key, width time.Duration) {
	a.signer.SetKey(sign)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.verifier.Set(accept, width)
}

func (a *Auth) sign(b []byte, m Message, source netip.Addr) ([]byte, error) {
	return a.signer.Append(b, m, source, a.clock.At(time.Now()))
}

func (a *Auth) verify(b []byte, source netip.Addr) (Message, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	return a.verifier.Verify(b, source, now, a.clock.At(now))
}
