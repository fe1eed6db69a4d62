package daemon

import (
	"context"
	"os"
	"strings"

	"github.com/keepvip/keepvip/internal/base/sdnotify"
)

// notify tells the service manager how this process fares, until outer ends; ctx is the election's.
func (d *Daemon) notify(ctx, outer context.Context) {
	n, err := sdnotify.New(os.Getenv, os.Getpid())
	if err != nil {
		d.log.Warn("the service manager is not told anything", "error", err)
		return
	}
	n.Run(ctx, outer, d.pulse, d.log)
}

// pulse is the state of every virtual address in a line, or the loop that is stuck.
func (d *Daemon) pulse() (string, error) {
	if err := d.set.Live(); err != nil {
		return "", err
	}
	var states []string
	for _, s := range d.set.Status() {
		states = append(states, s.Name+" "+s.State)
	}
	return strings.Join(states, ", "), nil
}
