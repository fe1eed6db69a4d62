package daemon

import (
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/keepvip/keepvip/internal/base/startpages"
	"github.com/keepvip/keepvip/internal/config"
)

const (
	// startTime is how long a daemon's start takes, at most, on an ordinary machine, and entryTime what each entry adds to it.
	startTime = 2 * time.Second
	// firstTime is when all has been done for the first time that is done again and again: looks at the host, renewals, greetings.
	firstTime = 6 * time.Second
	entryTime = 40 * time.Millisecond
)

// afterStart has the memory given back that only the start needed. Whoever asked for realtime wants no page fault that can be avoided, so
// there it all stays.
func afterStart(cfg *config.Config, log *slog.Logger) (stop func()) {
	realtime, crowd := cfg.Realtime, isCrowd(cfg)
	release := func() {
		if realtime {
			return
		}
		if crowd { // the tables and messages of hundreds of entries; of one they are small, and an election each 10 ms would notice
			debug.FreeOSMemory()
		}
		if err := startpages.Release(); err != nil {
			log.Debug("memory of the start is kept", "error", err)
		}
	}
	entries := time.Duration(len(cfg.VIPs)) * entryTime
	start, first := time.AfterFunc(startTime+entries, release), time.AfterFunc(firstTime+entries, release)
	return func() { start.Stop(); first.Stop() }
}
