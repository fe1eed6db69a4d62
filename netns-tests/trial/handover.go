package trial

import (
	"fmt"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// Verb runs a keepvip command on the holder, which passes the address on, and
// afterwards `keepvip resume`.
func Verb(args ...string) Fault {
	return func(g *Group) (*Result, error) {
		var k Keepvip
		switch p := g.Product.(type) {
		case Keepvip:
			k = p
		case Raft:
			k = p.Keepvip
		case Keyed:
		default:
			return nil, fmt.Errorf("trial: %s has no command to hand over", p.Name())
		}
		return g.run("keepvip "+args[0], g.everywhere(), func(m *lab.Measurement, holder *lab.Node) (time.Duration, error) {
			at := m.Mark("keepvip %v on %s", args, holder.Label)
			if err := k.order(holder, args...); err != nil {
				return 0, err
			}
			m.Mark("returned")
			time.Sleep(g.span())
			return at, k.order(holder, "resume")
		})
	}
}

// everywhere measures also from behind the router, if there is one.
func (g *Group) everywhere() lab.MeasureConfig {
	return lab.MeasureConfig{OffLink: g.Lab.OffLink != nil}
}
