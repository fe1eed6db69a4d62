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

// follow looks at the host after each of its changes, and calls changed where it is another one then.
func (h *host) follow(ctx context.Context, changed func()) {
	var last time.Time
	err := h.links.Watch(ctx, func() {
		time.Sleep(watchGap - time.Since(last))
		defer func() { last = time.Now() }()
		h.binds.wait() // what a listing would see in the middle of it is out of date at once, and listing slows it down
		another, err := h.refresh()
		if err != nil {
			h.log.Warn("the host's interfaces cannot be listed, trying again each second", "error", err)
		}
		for ; err != nil && ctx.Err() == nil; another, err = h.refresh() { // no further event need come
			select {
			case <-ctx.Done():
			case <-time.After(listAgain):
			}
		}
		if err == nil && another {
			changed()
		}
	})
	if err != nil && ctx.Err() == nil {
		h.log.Error("changes of the host are not seen any more", "error", err)
	}
}

// hangups reloads at each SIGHUP.
func (d *Daemon) hangups(ctx context.Context, hup <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
			_, _ = d.reload(ctx) // it logs its error, and nobody else waits for it
		}
	}
}
