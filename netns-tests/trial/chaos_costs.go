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

const (
	// mostRSS is what a daemon with three entries may need at any time.
	mostRSS = 40 << 20
	// growth is what may come on top of what a daemon had once it was warm.
	growthRSS, growthFiles = 8 << 20, 8
	// warm is after how many episodes a daemon has done everything once.
	warm = 5
)

// judgeCosts: memory and descriptors of a daemon stay the same, however much happens.
func (c *Chaos) judgeCosts(res *EpisodeResult) {
	for _, n := range c.nodes {
		rss, err := n.daemon.RSS()
		if err != nil {
			continue // it has ended, which is told elsewhere
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
