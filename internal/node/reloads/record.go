package reloads

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync/atomic"
	"time"

	"github.com/keepvip/keepvip/internal/config"
)

// Status is the part of a process's status that is about its configuration; its names are a contract with scripts.
type Status struct {
	Path    string    `json:"path,omitempty"` // the file; absent where flags and variables say all
	Loaded  time.Time `json:"loaded"`         // when the one in force was read
	Refused *Refused  `json:"refused,omitempty"`

	hash           string // of everything that says what is in force
	taken, refused uint64 // reloads
}

// Refused says why the last reload changed nothing.
type Refused struct {
	At      time.Time `json:"at"`
	Reasons []string  `json:"reasons"`
}

// Source is where a configuration comes from.
type Source struct {
	Path string // of the file; "": flags and variables say all
	Hash string // tells two configurations apart
}

// SourceOf names where cfg comes from. Its hash is of the file's bytes, and of what flags and variables add to it; of a keepalived.conf it is of
// what that comes to. What the files say that it names is no part of it.
func SourceOf(cfg *config.Config) Source {
	h := sha256.New()
	h.Write(cfg.File)
	if cfg.Converted {
		for _, v := range cfg.Values() {
			h.Write([]byte(v.Key + "\x00" + v.Text + "\x00"))
		}
	}
	for _, a := range cfg.Args() {
		h.Write([]byte("\x00" + a))
	}
	return Source{cfg.Path, hex.EncodeToString(h.Sum(nil)[:8])}
}

// Record is what has become of one process's configurations. One goroutine at a time calls Loaded and Refused, any calls Status.
type Record struct{ now atomic.Pointer[Status] }

// Status is what is recorded, nil before the first configuration. It is not to be changed.
func (r *Record) Status() *Status { return r.now.Load() }

// Loaded records that a configuration is in force from now on.
func (r *Record) Loaded(s Source) {
	next := Status{Path: s.Path, Loaded: time.Now(), hash: s.Hash}
	if was := r.now.Load(); was != nil { // the first one is no reload
		next.taken, next.refused = was.taken+1, was.refused
	}
	r.now.Store(&next)
}

// Refused records why the one in force stays.
func (r *Record) Refused(err error) {
	next := Status{}
	if now := r.now.Load(); now != nil {
		next = *now
	}
	next.refused++
	next.Refused = &Refused{At: time.Now(), Reasons: strings.Split(err.Error(), "\n")}
	r.now.Store(&next)
}
