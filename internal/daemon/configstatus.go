package daemon

import (
	"strings"
	"time"

	"github.com/keepvip/keepvip/internal/config"
)

// ConfigStatus is the part of status that is about the configuration.
type ConfigStatus struct {
	Path    string         `json:"path,omitempty"` // the file; absent where flags and variables say all
	Loaded  time.Time      `json:"loaded"`         // when the one in force was read
	Refused *ConfigRefused `json:"refused,omitempty"`
}

// ConfigRefused says why the last reload changed nothing.
type ConfigRefused struct {
	At      time.Time `json:"at"`
	Reasons []string  `json:"reasons"`
}

// noteLoaded notes that cfg is in force.
func (d *Daemon) noteLoaded(cfg *config.Config) {
	d.shown.Store(&ConfigStatus{Path: cfg.Path, Loaded: time.Now()})
}

// noteRefused notes why the one in force stays.
func (d *Daemon) noteRefused(err error) {
	next := ConfigStatus{}
	if now := d.shown.Load(); now != nil {
		next = *now
	}
	next.Refused = &ConfigRefused{At: time.Now(), Reasons: strings.Split(err.Error(), "\n")}
	d.shown.Store(&next)
}
