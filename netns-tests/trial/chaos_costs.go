package trial

import (
	"fmt"
	"time"
)

// chaosCost is what a daemon had after an episode.
type chaosCost struct {
	at    time.Duration
	rss   int64
	files int
}

// chaosUsed is how much processor time a daemon had used at an instant.
type chaosUsed struct{ at, used time.Duration }

const (
	// mostCPU is what a daemon may need of a core, averaged over an episode: a wide bound. One that begins and does everything once
	// needs a tenth of it, and one that spins needs all of a core on any machine.
	mostCPU = 60
	// mostRSS is what a daemon with three entries may need at any time.
	mostRSS = 40 << 20
	// growth is what may come on top of what a daemon had once it was warm.
	growthRSS, growthFiles = 8 << 20, 8
	// warm is after how many episodes a daemon has done everything once.
	warm = 5
)

// countCPU begins to count what the daemons use.
func (c *Chaos) countCPU() {
	for _, n := range c.nodes {
		if used, err := n.daemon.CPU(); err == nil {
			n.before = chaosUsed{c.lab.Now(), used}
		}
	}
}

// judgeCPU: no daemon spins. That the machine stood still excuses nothing, for a daemon that does not run needs nothing.
func (r *EpisodeResult) judgeCPU(label string, before, after chaosUsed) {
	used, passed := after.used-before.used, after.at-before.at
	if passed > 0 && used*100 > passed*mostCPU {
		r.Wrong = append(r.Wrong, fmt.Sprintf("%s has used %d ms of a processor within %d ms", label, used.Milliseconds(), passed.Milliseconds()))
	}
}

// judgeCosts: no daemon spins, and memory and descriptors of a daemon stay the same, however much happens.
func (c *Chaos) judgeCosts(res *EpisodeResult) {
	for _, n := range c.nodes {
		rss, err := n.daemon.RSS()
		if err != nil {
			continue // it has ended, which is told elsewhere
		}
		if used, err := n.daemon.CPU(); err == nil {
			res.judgeCPU(n.Label, n.before, chaosUsed{c.lab.Now(), used})
		}
		files, err := n.daemon.Files()
		if err != nil {
			continue
		}
		n.costs = append(n.costs, chaosCost{c.lab.Now(), rss, files})
		if rss > mostRSS {
			res.Wrong = append(res.Wrong, fmt.Sprintf("%s has %.1f MiB", n.Label, float64(rss)/(1<<20)))
		}
		if len(n.costs) <= warm {
			continue
		}
		base := n.costs[warm-1]
		if rss > base.rss+growthRSS || files > base.files+growthFiles {
			res.Wrong = append(res.Wrong, fmt.Sprintf("%s has grown within %v from %.1f MiB and %d files to %.1f MiB and %d files", n.Label,
				(c.lab.Now()-base.at).Round(time.Second), float64(base.rss)/(1<<20), base.files, float64(rss)/(1<<20), files))
		}
	}
}
