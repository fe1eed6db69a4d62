package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/keepvip/keepvip/internal/config"
)

// ConfigStatus is the part of status that is about the configuration.
type ConfigStatus struct {
	Path    string         `json:"path,omitempty"` // the file; absent where flags and variables say all
	Loaded  time.Time      `json:"loaded"`         // when the one in force was read
	Refused *ConfigRefused `json:"refused,omitempty"`

	hash           string // of everything that says what is in force
	taken, refused uint64 // reloads
}

// ConfigRefused says why the last reload changed nothing.
type ConfigRefused struct {
	At      time.Time `json:"at"`
	Reasons []string  `json:"reasons"`
}

// noteLoaded notes that cfg is in force.
func (d *Daemon) noteLoaded(cfg *config.Config) {
	next := ConfigStatus{Path: cfg.Path, Loaded: time.Now(), hash: hashOf(cfg)}
	if was := d.shown.Load(); was != nil { // the first one is no reload
		next.taken, next.refused = was.taken+1, was.refused
	}
	d.shown.Store(&next)
}

// noteRefused notes why the one in force stays.
func (d *Daemon) noteRefused(err error) {
	next := ConfigStatus{}
	if now := d.shown.Load(); now != nil {
		next = *now
	}
	next.refused++
	next.Refused = &ConfigRefused{At: time.Now(), Reasons: strings.Split(err.Error(), "\n")}
	d.shown.Store(&next)
}

// hashOf tells two configurations apart: by the file's bytes, and what flags and variables add to it. What the files say that it names is no
// part of it.
func hashOf(cfg *config.Config) string {
	h := sha256.New()
	h.Write(cfg.File)
	for _, a := range cfg.Args() {
		h.Write([]byte("\x00" + a))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
