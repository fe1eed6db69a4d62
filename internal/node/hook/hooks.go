package hook

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/config"
)

const (
	// lastTime is what the programs have together when keepvip ends: a keepvip that is started meanwhile waits for 3 s.
	lastTime = 2 * time.Second
	// yieldTime of it is for programs that run while others wait, so that those of STOP come to run.
	yieldTime = 500 * time.Millisecond
)

// Hooks tells programs of the host what becomes of the entries.
type Hooks struct {
	log   *slog.Logger
	after func(time.Duration, func()) (stop func() bool) // [time.AfterFunc], but in tests
	slots chan struct{}
	idle  sync.WaitGroup // of the lanes

	running, last context.Context // of programs: until keepvip begins to end, and until the very end
	yield, kill   context.CancelFunc

	mu      sync.Mutex // guards what follows
	ledger  *ledger
	lanes   map[string]*lane
	results results
	lines   election.Lines
	fifo    *fifo // nil: none
	closed  bool
}

// New makes Hooks that tell nobody yet.
func New(log *slog.Logger) *Hooks {
	h := &Hooks{
		log: log, after: realTime, slots: make(chan struct{}, mostRuns), ledger: newLedger(), lanes: map[string]*lane{}, results: newResults(),
	}
	h.last, h.kill = context.WithCancel(context.Background())
	h.running, h.yield = context.WithCancel(h.last)
	return h
}

func realTime(d time.Duration, f func()) (stop func() bool) { return time.AfterFunc(d, f).Stop }

// Open opens the FIFO, if there is to be one. Close has to follow.
func (h *Hooks) Open(c config.FIFO) {
	if c.Path == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fifo = openFIFO(c, h.log)
}

// Use takes a configuration over. leaving are the entries that end with it: what their end is called, Deleted, or "" for one that begins
// anew at once. A program that is new is told what was told of its entry last.
func (h *Hooks) Use(entries []Entry, leaving map[string]config.HookState) {
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.lanes, func(_ string, l *lane) bool { return !l.busy }) // those of entries that are gone must not add up
	before := h.ledger.entries
	now := h.ledger.use(entries, leaving)
	h.results.use(h.ledger.entries)
	if !h.closed {
		h.tell(now)
	}
	for _, j := range h.ledger.late(before) {
		if l := h.lane(j.event); l.join(j) {
			h.begin(l, j)
		}
	}
}

// Report notes what an entry has come to. It never blocks, and does nothing when that is nothing new. After Close it does nothing.
func (h *Hooks) Report(entry string, c Change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	var now []job
	for _, e := range h.ledger.change(entry, c) {
		now = append(now, job{e, h.ledger.programs(e)})
	}
	h.tell(now)
}

// tell writes the lines, and has the programs run. The caller holds the lock.
func (h *Hooks) tell(all []job) {
	for _, j := range all {
		if h.fifo != nil {
			h.fifo.put(j.line())
		}
		h.put(j)
	}
}

// put hands a job to its lane. The caller holds the lock.
func (h *Hooks) put(j job) {
	l := h.lane(j.event)
	begin, skipped := l.put(j)
	if skipped {
		h.results.skip(j.entry)
	}
	if begin {
		h.begin(l, j)
	}
}

func (h *Hooks) begin(l *lane, j job) {
	if !h.closed {
		h.idle.Go(func() { h.work(l, j) })
	}
}

// lane is that of the entry or the group that an event is about. The caller holds the lock.
func (h *Hooks) lane(e event) *lane {
	key := string(config.HookInstance) + e.entry
	if e.kind == config.HookGroup {
		key = string(config.HookGroup) + e.group
	}
	if h.lanes[key] == nil {
		h.lanes[key] = &lane{}
	}
	return h.lanes[key]
}

// waiting tells whether something waits for a program that runs, or may: whoever wants a slot may be behind others.
func (h *Hooks) waiting() bool {
	if len(h.slots) == cap(h.slots) {
		return true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.lanes {
		if l.next != nil && len(l.next.programs) > 0 {
			return true
		}
	}
	return false
}

// Close gives the programs a last moment, kills those that still run, and removes a FIFO that was made here. Nothing is told afterwards.
func (h *Hooks) Close() {
	h.mu.Lock()
	h.closed = true
	lines := h.fifo
	h.mu.Unlock()
	idle := make(chan struct{})
	go func() { h.idle.Wait(); close(idle) }()
	defer h.after(lastTime, h.kill)()
	if h.waiting() {
		defer h.after(yieldTime, h.yield)()
	}
	select {
	case <-idle:
	case <-h.last.Done():
		// What was killed is gone in a moment, unless it hangs in the kernel.
		if !h.within(yieldTime, idle) {
			h.log.Warn("a hook was killed and does not end")
		}
	}
	h.kill()
	if lines != nil {
		close(lines.lines) // what waits is written, unless a file system hangs
		h.within(yieldTime, lines.ended)
	}
}

// within waits for an end, for as long as that, and tells whether it has come.
func (h *Hooks) within(d time.Duration, end <-chan struct{}) bool {
	over := make(chan struct{})
	defer h.after(d, func() { close(over) })()
	select {
	case <-end:
		return true
	case <-over:
		return false
	}
}
