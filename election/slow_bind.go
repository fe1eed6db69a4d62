package election

import (
	"slices"
	"time"

	"github.com/keepvip/keepvip/vrrp"
)

// bindTime is how long the bind of one address may take: a quarter of it is what a kernel needs for the thousandth of one
// interface.
const bindTime = time.Millisecond

// follow has a decision carried out. Very many addresses take longer to bind than the others wait for the next advertisement: these
// go on leaving meanwhile, for as long as the bind may take. A host that is slower than that has to let others try.
func (e *VRRP) follow(d Decision) error {
	allowed := time.Duration(len(e.cfg.Router.Addresses)) * bindTime
	if d.Role != Serve || allowed < e.cfg.Router.Interval {
		return e.apply(d)
	}
	done := make(chan error, 1)
	go func() { done <- e.apply(d) }()
	for end := time.Now().Add(allowed); ; {
		next, ok := e.machine.Deadline()
		if !ok || next.After(end) {
			return <-done
		}
		e.timer.Reset(time.Until(next))
		select {
		case err := <-done:
			return err
		case <-e.timer.C:
			actions := slices.Clone(e.machine.Step(time.Now(), vrrp.Expired{}))
			var err error
			over := slices.ContainsFunc(actions, func(a vrrp.Action) bool { _, send := a.(vrrp.Send); return !send })
			if over { // this process stood still: the host follows one change at a time
				err = <-done
			}
			for _, a := range actions {
				e.act(a)
			}
			if over {
				return err
			}
		}
	}
}
