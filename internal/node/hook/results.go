package hook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/program"
	"github.com/keepvip/keepvip/internal/config"
)

// Result is how a run has ended, in a word.
type Result string

// The results.
const (
	OK         Result = "ok"
	Failed     Result = "failed"      // another exit status, or a signal
	TimedOut   Result = "timeout"     // it was killed
	Talked     Result = "output"      // it was killed because it printed too much
	NotStarted Result = "not started" // it could not be run
	Skipped    Result = "skipped"     // a newer state came before it was its turn
)

// resultOf is the word for an end.
func resultOf(end program.End) Result {
	switch {
	case end.OK():
		return OK
	case errors.Is(end.Err, program.ErrTalks):
		return Talked
	case errors.Is(end.Err, program.ErrNotStarted):
		return NotStarted
	case end.Err != nil:
		return TimedOut
	}
	return Failed
}

// Status is what is shown of the hooks. Its JSON form is part of the command line's contract.
type Status struct {
	Programs []ProgramStatus `json:"programs"`
	FIFO     *FIFOStatus     `json:"fifo,omitempty"`
}

// ProgramStatus is one program that has run.
type ProgramStatus struct {
	VIP     string           `json:"vip"`
	Command []string         `json:"command"`
	Runs    uint64           `json:"runs"`
	Failed  uint64           `json:"failed"`
	State   config.HookState `json:"state"`  // that it was told last
	Result  Result           `json:"result"` // of that run
	Reason  string           `json:"reason"`
	Output  string           `json:"output,omitempty"` // the first line that it printed, if it failed
	At      time.Time        `json:"at"`               // when it ended
}

// results is what has become of runs: the newest of each program, and counts for each entry. The lock of Hooks guards it.
type results struct {
	programs map[string]*ProgramStatus // by entry and command
	order    []string
	counts   map[string]map[Result]uint64 // by entry
}

func newResults() results {
	return results{programs: map[string]*ProgramStatus{}, counts: map[string]map[Result]uint64{}}
}

func keyOf(p Program) string {
	return p.entry + "\x00" + string(p.Type) + fmt.Sprint(p.States) + "\x00" + strings.Join(p.Command, "\x00")
}

// use forgets what the configuration does not have any more.
func (r *results) use(entries map[string]Entry) {
	keep, there := newResults(), map[string]bool{}
	for _, e := range entries {
		for _, p := range e.Programs {
			there[keyOf(p)] = true
		}
	}
	for _, key := range r.order {
		if there[key] {
			keep.programs[key], keep.order = r.programs[key], append(keep.order, key)
		}
	}
	for name := range entries {
		if c := r.counts[name]; c != nil {
			keep.counts[name] = c
		}
	}
	*r = keep
}

func (r *results) count(entry string, result Result) {
	if r.counts[entry] == nil {
		r.counts[entry] = map[Result]uint64{}
	}
	r.counts[entry][result]++
}

func (r *results) skip(entry string) { r.count(entry, Skipped) }

// add keeps one run, and returns what is shown of it.
func (r *results) add(p Program, e event, end program.End, now time.Time) ProgramStatus {
	result, key := resultOf(end), keyOf(p)
	r.count(p.entry, result)
	s := r.programs[key]
	if s == nil {
		s = &ProgramStatus{VIP: p.entry, Command: p.Command}
		r.programs[key], r.order = s, append(r.order, key)
	}
	s.Runs++
	s.State, s.Result, s.Reason, s.Output, s.At = e.State, result, end.Reason(), "", now
	if result == TimedOut {
		if s.Reason = fmt.Sprintf("killed after %v", p.Timeout); errors.Is(end.Err, context.Canceled) {
			s.Reason = "killed because keepvip ends"
		}
	}
	if result != OK {
		s.Failed++
		s.Output = end.FirstLine()
	}
	return *s
}

// mostLines is how many lines of one kind are written in a minute: others can bring about changes of state.
const mostLines = 60

// keep counts, shows and logs a run. It logs without the lock: nobody waits for a log.
func (h *Hooks) keep(p Program, e event, end program.End, now time.Time) {
	h.mu.Lock()
	s := h.results.add(p, e, end, now)
	text, level := "a hook has run", slog.LevelDebug
	if s.Result != OK {
		text, level = "a hook failed", slog.LevelWarn
	}
	left, ok := h.lines.May(now, text, mostLines)
	h.mu.Unlock()
	if !ok {
		return
	}
	args := []any{"vip", p.entry, "type", string(e.kind), "state", string(e.State), "command", strings.Join(p.Command, " "), "reason", s.Reason}
	if line := end.FirstLine(); line != "" {
		args = append(args, "output", line)
	}
	h.log.Log(context.Background(), level, text, election.LeftOut(args, left)...)
}

// Status is what is shown; nil where there is neither a program nor a FIFO.
func (h *Hooks) Status() *Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &Status{Programs: []ProgramStatus{}}
	for _, key := range h.results.order {
		s.Programs = append(s.Programs, *h.results.programs[key])
	}
	if h.fifo != nil {
		s.FIFO = h.fifo.status()
	}
	if len(s.Programs) == 0 && s.FIFO == nil {
		return nil
	}
	return s
}

// Counts is how often programs have ended in which way, by entry.
func (h *Hooks) Counts() map[string]map[Result]uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := map[string]map[Result]uint64{}
	for entry, counts := range h.results.counts {
		out[entry] = map[Result]uint64{}
		for result, n := range counts {
			out[entry][result] = n
		}
	}
	return out
}
