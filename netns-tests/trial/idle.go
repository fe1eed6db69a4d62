package trial

import (
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// idleAfter is when what a start costs, a takeover, and its announcements, is over.
const idleAfter = 10 * time.Second

// Idle measures what daemons cost beside which nothing happens. The result's CPU and RSS are those of the worst.
func Idle(length time.Duration) Fault {
	return func(g *Group) (*Result, error) {
		time.Sleep(idleAfter)
		var cpu float64
		var rss int64
		res, err := g.run("nothing", lab.MeasureConfig{NoDirect: true}, func(m *lab.Measurement, _ *lab.Node) (time.Duration, error) {
			at := m.Mark("nothing happens")
			before, began := g.cpu(), time.Now()
			time.Sleep(length)
			after, took := g.cpu(), time.Since(began)
			for i, p := range g.Daemons {
				cpu = max(cpu, float64(after[i]-before[i])/float64(took)*100)
				own, err := p.TreeRSS()
				if err != nil {
					return at, err
				}
				rss = max(rss, own)
			}
			return at, nil
		})
		if err != nil {
			return nil, err
		}
		res.CPU, res.RSS = cpu, rss
		return res, nil
	}
}
