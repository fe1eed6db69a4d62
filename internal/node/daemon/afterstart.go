package daemon

import (
	"runtime/debug"
	"time"

	"github.com/keepvip/keepvip/internal/base/startpages"
)

const (
	// startTime is how long a daemon's start takes, at most, on an ordinary machine, and entryTime what each entry adds to it.
	startTime = 2 * time.Second
	entryTime = 40 * time.Millisecond
)

// afterStart has the memory given back that only the start needed. Whoever asked for realtime wants no page fault that can be avoided, so
// there it all stays.
func (d *Daemon) afterStart() *time.Timer {
	cfg := d.settled()
	realtime, crowd := cfg.Realtime, isCrowd(cfg)
	return time.AfterFunc(startTime+time.Duration(len(cfg.VIPs))*entryTime, func() {
		if realtime {
			return
		}
		if crowd { // the tables and messages of hundreds of entries; of one they are small, and an election each 10 ms would notice
			debug.FreeOSMemory()
		}
		if err := startpages.Release(); err != nil {
			d.log.Debug("memory of the start is kept", "error", err)
		}
	})
}
