package trial

import (
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// idleAfter is when what a start costs, a takeover, and its announcements, is over.
const idleAfter = 10 * time.Second

// Idle measures what daemons cost beside which nothing happens. The result's CPU and RSS are those of the worst.
func Idle(length time.Duration) Fault {
	return func(g *Group) (_ *Result, err error) {
		defer try.Catch(&err)
		time.Sleep(idleAfter)
		var cpu float64
		var rss int64
		res := try.Get(g.run("nothing", lab.MeasureConfig{NoDirect: true}, func(m *lab.Measurement, _ *lab.Node) (_ time.Duration, err error) {
			defer try.Catch(&err)
			at := m.Mark("nothing happens")
			cpu = g.busiest(length)
			for _, p := range g.Daemons {
				rss = max(rss, try.Get(p.TreeRSS()))
			}
			return at, nil
		}))
		res.CPU, res.RSS = cpu, rss
		return res, nil
	}
}
