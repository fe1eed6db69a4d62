package daemon

import (
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/keepvip/keepvip/internal/config"
)

// limitGOMAXPROCS has the process use few processors at a time, unless the environment says how many. Each time that there is another one the
// scheduler wakes a second thread to look for work, and what the runtime keeps for each is never given back: with 64 processors an idle node
// takes a fifth more of one, and 2.5 MB. What runs here runs for microseconds.
func limitGOMAXPROCS(cfg *config.Config) {
	if os.Getenv("GOMAXPROCS") != "" {
		return
	}
	runtime.GOMAXPROCS(processors(cfg, runtime.NumCPU())) // which stops nothing where it is as it was
}

// processors is how many of those that there are the process uses at a time. It is one where all addresses are elected by Raft, and where there
// are many with VRRP that advertise no more than once a second: a leader wakes up some forty times a second, and of many Virtual Routers dozens
// wake up together, which would cost a fifth more. The lease has room for a quarter of a second there. With VRRP's shorter timers no election
// waits for something else that computes, such as a probe's key exchange.
func processors(cfg *config.Config, all int) int {
	if unhurried(cfg) {
		return 1
	}
	return min(all, 2)
}

// unhurried tells whether one processor is as good as two.
func unhurried(cfg *config.Config) bool {
	if len(cfg.ByRaft()) == len(cfg.VIPs) {
		return true
	}
	return len(cfg.VIPs) >= crowdTicks && !slices.ContainsFunc(cfg.VIPs, func(v config.VIP) bool {
		return v.Election != config.ElectionRaft && v.VRRP.AdvertisementInterval < time.Second
	})
}

// isCrowd tells whether there are so many entries that their memory counts, and none of them has to be quick.
func isCrowd(cfg *config.Config) bool { return len(cfg.VIPs) >= crowdTicks && unhurried(cfg) }

const (
	// gcPercent trades processor time, of which the daemon hardly uses any on garbage, for memory, which every node gives up.
	gcPercent = 40
	// crowdGCPercent is that of a crowd: what 255 entries have in use, with their stacks, is 20 MiB, and the garbage grows with it.
	crowdGCPercent = 20
)

// limitGarbage has the garbage collected as soon as there is a part of what is in use, unless the environment says which part.
func limitGarbage(cfg *config.Config) {
	if os.Getenv("GOGC") != "" {
		return
	}
	if isCrowd(cfg) {
		debug.SetGCPercent(crowdGCPercent)
	} else {
		debug.SetGCPercent(gcPercent)
	}
}

// tune sets up the runtime for this process.
func tune(cfg *config.Config, log *slog.Logger) {
	limitGarbage(cfg)
	limitGOMAXPROCS(cfg)
	if cfg.Realtime {
		goRealtime(log)
	}
}
