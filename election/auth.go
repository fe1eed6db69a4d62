package election

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keepvip/keepvip/internal/replay"
	"github.com/keepvip/keepvip/vrrp"
)

// AuthMode says how much a node insists on authentication.
type AuthMode uint8

// The modes, from the last to the first step of introducing a key on running nodes.
const (
	Enforce     AuthMode = iota // sign, and take nothing that is not signed
	Permissive                  // sign, take everything, and say what Enforce would refuse
	ReceiveOnly                 // do not sign yet, take everything, and say which signatures Enforce would refuse
)

// AuthConfig is the authentication of a process's advertisements.
type AuthConfig struct {
	Keys   []vrrp.Key // the first one signs, all are accepted; none: no authentication
	Mode   AuthMode
	Window time.Duration // how far the time of an advertisement may be from ours
}

// Auth signs and verifies the advertisements of all Virtual Routers of a process. A nil Auth, like one without keys, does
// neither. Safe for concurrent use; whoever verifies does not hold up whoever signs.
type Auth struct {
	clock *replay.Clock
	state atomic.Pointer[authState] // nil without keys

	mu       sync.Mutex // guards verifier, and changes
	verifier *vrrp.Verifier
}

type authState struct {
	mode   AuthMode
	signer *vrrp.Signer
}

// NewAuth makes an Auth whose time is clock's.
func NewAuth(cfg AuthConfig, clock *replay.Clock) (*Auth, error) {
	a := &Auth{clock: clock}
	if err := a.Set(cfg); err != nil {
		return nil, err
	}
	return a, nil
}

// Set changes everything at once, and forgets no sender's sequence. With an error nothing has changed.
func (a *Auth) Set(cfg AuthConfig) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(cfg.Keys) == 0 {
		a.state.Store(nil)
		return nil
	}
	signer, err := vrrp.NewSigner(cfg.Keys[0], a.clock)
	if err == nil {
		err = a.accept(cfg)
	}
	if old := a.state.Load(); err == nil && old != nil {
		signer, err = old.signer, old.signer.SetKey(cfg.Keys[0])
	}
	if err != nil {
		return fmt.Errorf("election: %w", err)
	}
	a.state.Store(&authState{mode: cfg.Mode, signer: signer})
	return nil
}

// accept changes what is accepted. The caller holds the lock.
func (a *Auth) accept(cfg AuthConfig) (err error) {
	if a.verifier != nil {
		return a.verifier.Set(cfg.Keys, cfg.Window)
	}
	a.verifier, err = vrrp.NewVerifier(cfg.Keys, cfg.Window, a.clock)
	return err
}

// now is the state, or nil for no authentication.
func (a *Auth) now() *authState {
	if a == nil {
		return nil
	}
	return a.state.Load()
}

// append encodes an advertisement, and signs it if there is a key.
func (a *Auth) append(b []byte, adv vrrp.Advertisement, src, dst netip.Addr, form vrrp.ChecksumForm) ([]byte, error) {
	if s := a.now(); s != nil && s.mode != ReceiveOnly {
		return s.signer.Append(b, adv, src, dst, form, time.Now())
	}
	return adv.Append(b, src, dst, form)
}

// parsed is an advertisement that was read.
type parsed struct {
	vrrp.Advertisement
	doubt error // why Enforce would refuse it
}

// parse verifies before anything else is believed. zone tells links apart.
func (a *Auth) parse(d vrrp.Datagram, zone string) (parsed, error) {
	s := a.now()
	if s == nil {
		return plain(d)
	}
	a.mu.Lock()
	adv, _, err := a.verifier.Parse(d.Payload, d.Source.WithZone(zone), d.Destination, time.Now().Add(-d.Age))
	a.mu.Unlock()
	switch {
	case err == nil:
		return parsed{Advertisement: adv}, nil
	case s.mode == Enforce:
		return parsed{}, err
	}
	return lenient(d, err, s.mode)
}

// plain is for a node without a key.
func plain(d vrrp.Datagram) (parsed, error) {
	adv, _, err := vrrp.Parse(d.Payload, d.Source, d.Destination)
	return parsed{Advertisement: adv}, err
}

// lenient is for a node with a key on which it does not insist yet.
func lenient(d vrrp.Datagram, doubt error, mode AuthMode) (parsed, error) {
	adv, _, err := vrrp.ParseUnverified(d.Payload, d.Source, d.Destination)
	if err != nil {
		return parsed{}, err
	}
	var pe *vrrp.PacketError
	if mode == ReceiveOnly && errors.As(doubt, &pe) && pe.Reason == vrrp.RejectUnsigned {
		doubt = nil
	}
	return parsed{Advertisement: adv, doubt: doubt}, nil
}
