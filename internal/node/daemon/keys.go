package daemon

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/keepvip/keepvip/election/raft"
	"github.com/keepvip/keepvip/internal/base/auth"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/members/subscription"
	"github.com/keepvip/keepvip/vrrp"
)

// keys authenticate what this process says and hears, with what status shows of them.
type keys struct {
	vrrp    *vrrp.Auth
	members *members.Auth
	// followers have a key of their own, which is derived; nil: nobody follows.
	followers *subscription.Server
	shown     atomic.Pointer[keyStatus] // nil without a key
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

var authModes = map[config.KeyMode]auth.Mode{
	config.KeyEnforce: auth.Enforce, config.KeyPermissive: auth.Permissive, config.KeyReceiveOnly: auth.ReceiveOnly,
}

// newKeys makes them empty. The clock is read here, once.
func newKeys() *keys {
	clock := auth.NewClock(time.Now(), auth.KernelSynchronized)
	return &keys{vrrp: vrrp.NewAuth(clock), members: members.NewAuth(clock)}
}

// prepare checks keys, and returns what takes them over, which cannot fail. The members' are derived from those of the
// advertisements.
func (k *keys) prepare(cfg config.Key, secrets []config.Secret) (use func(), err error) {
	adverts := auth.Config{Mode: authModes[cfg.Mode], Window: cfg.Window}
	messages := adverts
	asks := subscription.Keys{Open: len(secrets) == 0 || adverts.Mode != auth.Enforce}
	for _, s := range secrets {
		key, err := members.NewKey(config.DeriveKey(s.Bytes, "members"))
		if err != nil {
			return nil, err
		}
		follower, err := subscription.NewKey(config.DeriveKey(s.Bytes, config.ForFollowers))
		if err != nil {
			return nil, err
		}
		asks.Keys = append(asks.Keys, follower)
		adverts.Keys = append(adverts.Keys, vrrp.NewKey(s.ID, s.Bytes))
		messages.Keys = append(messages.Keys, key)
	}
	if err := errors.Join(adverts.Validate(), messages.Validate()); err != nil {
		return nil, err
	}
	return func() {
		_, _ = k.vrrp.Set(adverts), k.members.Set(messages) // both are valid
		if k.followers != nil {
			k.followers.SetKeys(asks)
		}
		k.shown.Store(shownKeys(cfg, secrets))
	}, nil
}

// secrets are what the files hold by which this node shows who it is. Nothing else of a reload reads them: a file system may never answer, and there is a
// lock behind that.
type secrets struct {
	keys []config.Secret
	raft *raft.Identity // of certificates of its own; nil: the keys are
	// stays tells that a member of the cluster goes on showing what it has shown so far.
	stays bool
}

// loadSecrets reads those of what is served from now on. The files in use may be gone where the next configuration has
// others for its next start, or elects nothing with Raft. The other members still know this one then.
func loadSecrets(serving, next *config.Config) (s secrets, err error) {
	if s.keys, err = loadKeys(serving.Key); err != nil {
		return s, err
	}
	if len(serving.ByRaft()) > 0 && serving.Raft.OwnCertificates() {
		s.raft = &raft.Identity{}
		err = s.raft.UseFiles(filesOf(serving))
	}
	gone := err != nil || s.raft == nil && len(s.keys) == 0
	if gone && (len(next.ByRaft()) == 0 || filesOf(next) != filesOf(serving)) {
		return secrets{keys: s.keys, stays: true}, nil
	}
	return s, err
}

func filesOf(cfg *config.Config) raft.Files {
	return raft.Files{Cert: cfg.Raft.Certificate, Key: cfg.Raft.PrivateKey, CA: cfg.Raft.CA}
}

// loadKeys reads the keys once for all who need them: a file may be replaced at any time.
func loadKeys(k config.Key) ([]config.Secret, error) {
	secrets, err := k.Load()
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return secrets, nil
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

func (k *keys) status() *keyStatus { return k.shown.Load() }

// enforced tells whether nothing counts that is not signed.
func (k *keys) enforced() bool {
	shown := k.shown.Load()
	return shown != nil && shown.Mode == string(config.KeyEnforce)
}
