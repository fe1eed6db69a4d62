package main

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

// auth is the authentication of this process, with what status shows of it.
type auth struct {
	*election.Auth
	members *members.Auth
	shown   atomic.Pointer[keyStatus] // nil without a key
}

// keyStatus shows which keys are in use, but not what they are.
type keyStatus struct {
	Mode   string     `json:"mode"`
	Signs  keyPrint   `json:"signs"`
	Accept []keyPrint `json:"accept,omitempty"`
	Window string     `json:"window"`
}

type keyPrint struct {
	ID          uint8  `json:"id"`
	Fingerprint string `json:"fingerprint"` // the same on every node that has the same key
}

var authModes = map[config.KeyMode]election.AuthMode{
	config.KeyEnforce: election.Enforce, config.KeyPermissive: election.Permissive, config.KeyReceiveOnly: election.ReceiveOnly,
}

// newAuth reads the keys. The clock is read here, once.
func newAuth(k config.Key) (*auth, error) {
	inner, err := election.NewAuth(election.AuthConfig{}, vrrp.NewClock(time.Now(), vrrp.KernelSynchronized))
	if err != nil {
		return nil, err
	}
	a := &auth{Auth: inner, members: members.NewAuth()}
	return a, a.set(k)
}

// set takes over the keys as they are on disk now. With an error nothing has changed.
func (a *auth) set(k config.Key) error {
	secrets, err := k.Load()
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	cfg := election.AuthConfig{Mode: authModes[k.Mode], Window: k.Window}
	for _, s := range secrets {
		cfg.Keys = append(cfg.Keys, vrrp.Key{ID: s.ID, Secret: s.Bytes})
	}
	if err := a.Set(cfg); err != nil {
		return err
	}
	if err := setMembersKeys(a.members, k.Mode, secrets); err != nil {
		return err
	}
	a.shown.Store(shownKeys(k, secrets))
	return nil
}

func shownKeys(k config.Key, secrets []config.Secret) *keyStatus {
	if len(secrets) == 0 {
		return nil
	}
	out := &keyStatus{Mode: string(k.Mode), Window: k.Window.String()}
	for i, s := range secrets {
		p := keyPrint{ID: s.ID, Fingerprint: config.Fingerprint(s.Bytes)}
		if i == 0 {
			out.Signs = p
			continue
		}
		out.Accept = append(out.Accept, p)
	}
	return out
}

func (a *auth) status() *keyStatus { return a.shown.Load() }
