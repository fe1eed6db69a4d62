package trial

import (
	"errors"
	"fmt"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// APIRestored lets the apiserver on the holder answer 500 until the address has moved, mends it, and watches for a while what
// the recovered node does. Answered is then the time from the mending until that node has the address again, 0 if it has not.
func APIRestored(watch time.Duration) Fault {
	return func(g *Group) (*Result, error) {
		var victim *lab.Node
		var back time.Duration
		res, err := g.run("apiserver restored", lab.MeasureConfig{HTTPS: true}, func(m *lab.Measurement, holder *lab.Node) time.Duration {
			victim = holder
			at := m.Mark("apiserver on %s: 500", holder.Label)
			try.Do(holder.API().Set(lab.API500, ""))
			try.Get(until(5*time.Second, "the address moves", func() bool { return !holder.Holds(g.Addresses[0]) }))
			time.Sleep(g.span())
			try.Do(holder.API().Set(lab.APIHealthy, ""))
			back = m.Mark("apiserver on %s is well again", holder.Label)
			time.Sleep(watch)
			return at
		})
		if victim != nil {
			err = errors.Join(err, victim.API().Set(lab.APIHealthy, ""), g.healthy())
		}
		if err != nil {
			return nil, fmt.Errorf("trial: apiserver restored: %w", err)
		}
		again := firstBind(res.Report, g.Addresses[0], back, func(node int) bool { return node == victim.ID })
		res.Answered = max(again-back, 0)
		return res, nil
	}
}
