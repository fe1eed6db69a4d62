package hook

import (
	"context"
	"errors"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/keepvip/keepvip/internal/base/program"
	"github.com/keepvip/keepvip/internal/config"
)

// job is an event with the programs that want it.
type job struct {
	event
	programs []Program
}

// lane is what is to be run for one entry, or one group. Its fields are guarded by the lock of its Hooks.
type lane struct {
	busy bool
	next *job // the newest that waits; nil: none
}

// put takes the newest job, and tells whether a goroutine has to begin with it. A job that waited is replaced; it counts as skipped if it would
// have run anything.
func (l *lane) put(j job) (begin, skipped bool) {
	if !l.busy {
		l.busy = len(j.programs) > 0
		return l.busy, false
	}
	skipped = l.next != nil && len(l.next.programs) > 0
	l.next = &j
	return false, skipped
}

// join adds programs to what an entry was told last, which waits, or has been run already. It tells whether a goroutine has to begin with it.
func (l *lane) join(j job) (begin bool) {
	if l.next != nil {
		l.next.programs = append(slices.Clip(l.next.programs), j.programs...)
		return false
	}
	begin, _ = l.put(j)
	return begin
}

// done tells what comes after a job.
func (l *lane) done() (next job, more bool) {
	if l.next == nil || len(l.next.programs) == 0 {
		l.busy, l.next = false, nil
		return job{}, false
	}
	next, l.next = *l.next, nil
	return next, true
}

// mostRuns is how many programs run at the same moment, of all lanes together: 255 addresses that come at once must not be a storm of
// processes beside an election.
const mostRuns = 16

// work runs what a lane has to run, one job after the other.
func (h *Hooks) work(l *lane, j job) {
	for more := true; more; {
		var all sync.WaitGroup
		for _, p := range j.programs {
			all.Go(func() { h.run(p, j.event) })
		}
		all.Wait()
		h.mu.Lock()
		j, more = l.done()
		h.mu.Unlock()
	}
}

// run runs one program, and keeps what has become of it.
func (h *Hooks) run(p Program, e event) {
	h.slots <- struct{}{}
	defer func() { <-h.slots }()
	command := p.Command
	if p.Arguments {
		command = append(append([]string{}, command...), e.arguments()...)
	}
	ctx, cancel := context.WithCancelCause(h.life(e))
	defer cancel(nil)
	defer h.after(p.Timeout, func() { cancel(context.DeadlineExceeded) })()
	if ctx.Err() != nil { // keepvip ends, and it has not begun
		h.mu.Lock()
		defer h.mu.Unlock()
		h.results.skip(p.entry)
		return
	}
	end := program.Run(ctx, command, syscall.Credential{Uid: p.UID, Gid: p.GID}, e.document())
	if errors.Is(end.Err, context.Canceled) {
		end.Err = context.Cause(ctx) // whether it was its own time, or keepvip's
	}
	h.keep(p, e, end, time.Now())
}

// life is for how long programs of an event may run: those of the last one until keepvip ends, those of another until it begins to.
func (h *Hooks) life(e event) context.Context {
	if e.State == config.HookStop {
		return h.last
	}
	return h.running
}
