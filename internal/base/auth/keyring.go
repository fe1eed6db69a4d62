package auth

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	minSecret = 32
	maxSecret = 64
	// maxWindow bounds how far the clocks of members may differ.
	maxWindow = time.Hour
)

// Mode says how far a node demands authentication.
type Mode uint8

// The modes, from the last to the first step of introducing a key on running nodes.
const (
	Enforce     Mode = iota // sign, and take nothing that is not signed
	Permissive              // sign, and take everything
	ReceiveOnly             // do not sign yet, and take everything
)

// Key authenticates packets by HMAC-SHA-256.
type Key struct {
	ID     string // the bytes by which a packet names it
	Secret []byte
}

// Sum authenticates the parts, one after the other.
func (k Key) Sum(parts ...[]byte) []byte {
	h := hmac.New(sha256.New, k.Secret)
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

const (
	// IDLen is the length of the id of a key that [Derive] makes.
	IDLen = 4
	// TrailerLen is the length of what [Key.AppendTrailer] appends with such a key.
	TrailerLen = IDLen + sha256.Size
)

// AppendTrailer appends the key's id and its whole code of the parts.
func (k Key) AppendTrailer(b []byte, parts ...[]byte) []byte {
	code := k.Sum(parts...) // the parts may be of b
	return append(append(b, k.ID...), code...)
}

// Find looks for the key that a packet names, and compares the packet's code, or what of it there is, with that of the parts: Fresh as far as
// that can tell, UnknownKey or Forged.
func Find(keys []Key, id, code []byte, parts ...[]byte) (*Key, Judgement) {
	i := slices.IndexFunc(keys, func(key Key) bool { return key.ID == string(id) })
	switch {
	case i < 0:
		return nil, UnknownKey
	case !hmac.Equal(keys[i].Sum(parts...)[:len(code)], code):
		return nil, Forged
	}
	return &keys[i], Fresh
}

// checkSecret reports a secret of the wrong length.
func checkSecret(secret []byte) error {
	if n := len(secret); n < minSecret || n > maxSecret {
		return fmt.Errorf("auth: key of %d bytes, want %d to %d random bytes", n, minSecret, maxSecret)
	}
	return nil
}

// Derive makes the key of one protocol from a shared secret, by HKDF (RFC 5869) with SHA-256. The label keeps what is made with it apart from
// what the same secret is used for elsewhere. Its id comes from the secret, too: two keys can be told apart while one is being replaced
// by the other.
func Derive(secret []byte, label string) (Key, error) {
	if err := checkSecret(secret); err != nil {
		return Key{}, err
	}
	mac, err := hkdf.Key(sha256.New, secret, nil, label+" mac", sha256.Size)
	if err != nil {
		return Key{}, fmt.Errorf("auth: derive the key: %w", err)
	}
	id, err := hkdf.Key(sha256.New, secret, nil, label+" id", IDLen)
	if err != nil {
		return Key{}, fmt.Errorf("auth: derive the key's id: %w", err)
	}
	return Key{ID: string(id), Secret: mac}, nil
}

// Config is the authentication of one protocol.
type Config struct {
	Keys   []Key // the first one signs, all are accepted; none: no authentication
	Mode   Mode
	Window time.Duration // how far the time of a packet may be from ours, up to an hour
}

// Validate reports a secret of the wrong length, an id that is there twice, and a window out of range.
func (c Config) Validate() error {
	if len(c.Keys) > 0 && (c.Window <= 0 || c.Window > maxWindow) {
		return fmt.Errorf("auth: time window %v, want more than 0s and at most %v", c.Window, maxWindow)
	}
	for i, key := range c.Keys {
		if err := checkSecret(key.Secret); err != nil {
			return err
		}
		if slices.ContainsFunc(c.Keys[:i], func(k Key) bool { return k.ID == key.ID }) {
			return fmt.Errorf("auth: key id %x is there twice, want each once", key.ID)
		}
	}
	return nil
}

// Keys are those of one protocol that are in use. They are a [Keyring]'s. Safe for concurrent use.
type Keys struct{ config atomic.Pointer[Config] } // never nil

// Config is what is in use.
func (k *Keys) Config() Config { return *k.config.Load() }

// Genuine is [Find] with the keys that are in use.
func (k *Keys) Genuine(id, code []byte, parts ...[]byte) Judgement {
	_, verdict := Find(k.Config().Keys, id, code, parts...)
	return verdict
}

// Keyring signs and judges the packets of one protocol for a whole process, and remembers each sender's last sequence; S tells
// senders apart. Safe for concurrent use; whoever judges does not hold up whoever signs.
type Keyring[S comparable] struct {
	Keys
	clock *Clock

	signing sync.Mutex // guards last
	last    uint64

	judging sync.Mutex // guards window
	window  *window[S]
}

// NewKeyring makes a Keyring without keys, whose time is clock's.
func NewKeyring[S comparable](clock *Clock) *Keyring[S] {
	k := &Keyring[S]{clock: clock, window: newWindow[S](Default)}
	k.config.Store(&Config{})
	return k
}

// Set changes everything at once; the sequence goes on, and no sender is forgotten. The error is [Config.Validate]'s, and
// nothing has changed then.
func (k *Keyring[S]) Set(cfg Config) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	k.judging.Lock()
	defer k.judging.Unlock()
	if len(cfg.Keys) > 0 {
		k.window.setWidth(cfg.Window)
	}
	k.config.Store(&cfg)
	return nil
}

// Next returns what the next packet is signed with, nil for nothing, and its sequence: number's of now, and more than any
// before, even if the clock was set back.
func (k *Keyring[S]) Next(now time.Time, number func(time.Time) uint64) (*Key, uint64) {
	at := number(k.clock.at(now))
	k.signing.Lock()
	defer k.signing.Unlock()
	k.last = max(at, k.last+1)
	if cfg := k.Config(); len(cfg.Keys) > 0 && cfg.Mode != ReceiveOnly {
		return &cfg.Keys[0], k.last
	}
	return nil, k.last
}

// Judge tells whether a genuine packet of s is new: by its sequence, by when it was made by the sender's clock, and by when it
// arrived. If it is, and only if it is also well-formed, it is remembered. The duration is [Window.Judge]'s.
func (k *Keyring[S]) Judge(s S, sequence uint64, made, at time.Time, wellFormed bool) (Judgement, time.Duration) {
	p := packet{Sequence: sequence, Made: made, At: at, Clock: k.clock.at(at)}
	k.judging.Lock()
	defer k.judging.Unlock()
	verdict, by := k.window.judge(s, p)
	if verdict == Fresh && wellFormed {
		k.window.note(s, p)
	}
	return verdict, by
}
