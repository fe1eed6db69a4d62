package virtualrouter

import (
	"time"

	"github.com/keepvip/keepvip/election"
)

// bindTime is how long the bind of one address may take: a quarter of it is what a kernel needs for the thousandth of one
// interface.
const bindTime = time.Millisecond

// follow has a decision carried out. Very many addresses take longer to bind than the others wait for the next advertisement: these
// go on leaving meanwhile, for as long as the bind may take. A host that is slower than that has to let others try.
func (e *Elector) follow(d election.Decision) error {
	allowed := time.Duration(max(e.cfg.Bound, len(e.cfg.Router.Addresses))) * bindTime
	if d.Role != election.Serve || d.Rival || allowed < e.cfg.Router.Interval {
		return e.apply(d)
	}
	done := make(chan error, 1)
	go func() { done <- e.apply(d) }()
	for end := time.Now().Add(allowed); ; {
		next, ok := e.machine.router.Deadline()
		if !ok || next.After(end) {
			return <-done
		}
		e.timer.alarm.Set(next)
		select {
		case err := <-done:
			return err
		case <-e.timer.came:
			if !time.Now().Before(next) && !e.advertiseMeanwhile() {
				return <-done
			}
		}
	}
}

// advertiseMeanwhile tells whether the machine goes on as it is.
func (e *Elector) advertiseMeanwhile() bool {
	e.mu.Lock()
	actions := e.machine.Step(time.Now(), meanwhile{})
	over := len(e.machine.agenda.late) > 0
	e.mu.Unlock()
	for _, a := range actions {
		e.carryOut(nil, a)
	}
	return !over
}
