package daemon

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/replay"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

// auth is the authentication of this process, with what status shows of it.
type auth struct {
	*election.Auth
	members *members.Auth
	shown   atomic.Pointer[KeyStatus] // nil without a key
}

// KeyStatus shows which keys are in use, but not what they are.
type KeyStatus struct {
	Mode   string     `json:"mode"`
	Signs  KeyPrint   `json:"signs"`
	Accept []KeyPrint `json:"accept,omitempty"`
	Window string     `json:"window"`
}

type KeyPrint struct {
	ID          uint8  `json:"id"`
	Fingerprint string `json:"fingerprint"` // the same on every node that has the same key
}

var authModes = map[config.KeyMode]election.AuthMode{
	config.KeyEnforce: election.Enforce, config.KeyPermissive: election.Permissive, config.KeyReceiveOnly: election.ReceiveOnly,
}

// newAuth makes one without keys. The clock is read here, once.
func newAuth() (*auth, error) {
	clock := replay.NewClock(time.Now(), replay.KernelSynchronized)
	inner, err := election.NewAuth(election.AuthConfig{}, clock)
	if err != nil {
		return nil, err
	}
	return &auth{Auth: inner, members: members.NewAuth(clock)}, nil
}

// prepare checks keys, and returns what takes them over, which cannot fail.
func (a *auth) prepare(k config.Key, secrets []config.Secret) (use func(), err error) {
	cfg := election.AuthConfig{Mode: authModes[k.Mode], Window: k.Window}
	for _, s := range secrets {
		cfg.Keys = append(cfg.Keys, vrrp.Key{ID: s.ID, Secret: s.Bytes})
	}
	if _, err := election.NewAuth(cfg, replay.NewClock(time.Now(), nil)); err != nil {
		return nil, err
	}
	useMembers, err := prepareMembersKeys(a.members, k, secrets)
	if err != nil {
		return nil, err
	}
	return func() {
		_ = a.Set(cfg) // another one took it above
		useMembers()
		a.shown.Store(shownKeys(k, secrets))
	}, nil
}

// loadKeys reads the keys once for all who need them: a file may be replaced at any time.
func loadKeys(k config.Key) ([]config.Secret, error) {
	secrets, err := k.Load()
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return secrets, nil
}

func shownKeys(k config.Key, secrets []config.Secret) *KeyStatus {
	if len(secrets) == 0 {
		return nil
	}
	out := &KeyStatus{Mode: string(k.Mode), Window: k.Window.String()}
	for i, s := range secrets {
		p := KeyPrint{ID: s.ID, Fingerprint: config.Fingerprint(s.Bytes)}
		if i == 0 {
			out.Signs = p
			continue
		}
		out.Accept = append(out.Accept, p)
	}
	return out
}

func (a *auth) status() *KeyStatus { return a.shown.Load() }
