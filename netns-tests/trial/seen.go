package trial

import (
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// seen is how long it took from the fault until it was seen: until the holder's
// own check has fallen, by its log; where the holder itself is what broke, until
// another node has taken the address. -1 stands for never.
func (g *Group) seen(res *Result, victim *lab.Node) time.Duration {
	if victim != nil && g.Daemon(victim) != nil {
		for line := range strings.Lines(g.Daemon(victim).Log()) {
			at, ok := g.fell(line)
			// The log has whole milliseconds.
			if ok && at >= res.FaultAt-time.Millisecond {
				return max(at-res.FaultAt, 0)
			}
		}
	}
	for _, b := range res.Report.Binds {
		if b.Added && b.Address == g.Addresses[0] && b.At >= res.FaultAt && b.Node != res.Victim {
			return b.At - res.FaultAt
		}
	}
	return -1
}

// fell reads a line of keepvip's log that says that a check has fallen.
func (g *Group) fell(line string) (at time.Duration, ok bool) {
	stamp, rest, _ := strings.Cut(strings.TrimPrefix(line, "time="), " ")
	if !strings.Contains(rest, `msg="health changed"`) || !strings.Contains(rest, " healthy=false ") {
		return 0, false
	}
	t, err := time.Parse(time.RFC3339Nano, stamp)
	return g.Lab.Instant(t), err == nil
}
