package daemon

import (
	"os"
	"runtime"
	"runtime/debug"

	"github.com/keepvip/keepvip/internal/config"
)

// limitGOMAXPROCS has the process use one processor at a time where all addresses are elected by Raft. A leader wakes up some
// forty times a second, and each time that there is another processor the scheduler wakes a second thread to look for work, which
// costs a fifth of all that it takes. What runs here runs for microseconds; the lease has room for a quarter of a second. With
// VRRP, whose timers are shorter, all processors may be used, and so they may where the environment says how many.
func limitGOMAXPROCS(cfg *config.Config) {
	if os.Getenv("GOMAXPROCS") != "" {
		return
	}
	one := len(cfg.ByRaft()) == len(cfg.VIPs)
	switch {
	case one:
		runtime.GOMAXPROCS(1)
	case runtime.GOMAXPROCS(0) == 1:
		runtime.SetDefaultGOMAXPROCS()
	}
}

// gcPercent trades processor time, of which the daemon hardly uses any on garbage, for memory, which every node gives up.
const gcPercent = 40

// tune sets up the runtime for this process.
func (d *Daemon) tune() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	limitGOMAXPROCS(d.cfg)
	if d.cfg.Realtime {
		goRealtime(d.log)
	}
}
