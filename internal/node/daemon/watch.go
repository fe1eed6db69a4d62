package daemon

import (
	"context"
	"os"
	"time"
)

// watchGap is the least time between two looks at the host: a thousand addresses that are bound at once are a
// thousand events.
const watchGap = 10 * time.Millisecond

// listAgain keeps a kernel that refuses a listing from being asked in a loop.
const listAgain = time.Second

// watch follows the host.
func (d *Daemon) watch(ctx context.Context) {
	var last time.Time
	err := d.links.Watch(ctx, func() {
		time.Sleep(watchGap - time.Since(last))
		defer func() { last = time.Now() }()
		d.host.binds.wait() // what a listing would see in the middle of it is out of date at once, and listing slows it down
		changed, err := d.host.refresh()
		if err != nil {
			d.log.Warn("the host's interfaces cannot be listed, trying again each second", "error", err)
		}
		for ; err != nil && ctx.Err() == nil; changed, err = d.host.refresh() { // no further event need come
			select {
			case <-ctx.Done():
			case <-time.After(listAgain):
			}
		}
		if err == nil && changed {
			d.set.HostChanged()
		}
	})
	if err != nil && ctx.Err() == nil {
		d.log.Error("changes of the host are not seen any more", "error", err)
	}
}

// hangups reloads at each SIGHUP.
func (d *Daemon) hangups(ctx context.Context, hup <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
			_, _ = d.Reload(ctx) // it logs its error, and nobody else waits for it
		}
	}
}
