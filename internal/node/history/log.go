package history

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/nudge"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// chunk is how many lines a reader is given at a time.
const chunk = 8

// closeTime bounds how long the end of the process waits for a disk.
const closeTime = time.Second

// Log is the history of one process. It is safe from any goroutine.
type Log struct {
	log   *slog.Logger
	path  string // set by Open
	boot  string
	wake  nudge.Signal  // there is something to write
	close chan struct{} // closed by Close
	ended chan struct{} // closed when nothing is written any more

	mu      sync.Mutex // guards what follows; never held while a disk works
	ring    ring
	written uint64    // number of the newest that is in the file
	dropped uint64    // lines that had to go before they were in the file
	failure error     // why the file does not have them
	since   time.Time // of the failure
	closed  bool
}

// Status is what is wrong with the file.
type Status struct {
	Path    string    `json:"path"`
	Error   string    `json:"error,omitempty"` // why the transitions are in memory only
	Code    code.Code `json:"code,omitempty"`  // of Error
	Since   time.Time `json:"since,omitzero"`
	Dropped uint64    `json:"dropped,omitempty"` // transitions that were never in the file: too many came at once, or while it could not be written
}

// New makes a Log that has nothing yet, and writes nothing.
func New(log *slog.Logger) *Log {
	return &Log{log: log, boot: bootID(), wake: nudge.New(), close: make(chan struct{}), ended: make(chan struct{})}
}

// Open reads the file in a state directory, and begins to write it. Neither has to be there: what is wrong with them is logged once, and shown
// by [Log.Status]. It comes before the first Add, and Close has to follow.
func (l *Log) Open(dir string) { l.begin(Path(dir), &file{dir: dir}) }

func (l *Log) begin(path string, d disk) {
	l.path = path
	k := &keeper{disk: d}
	_ = l.load(k) // it is told, and tried again
	go l.run(k)
}

// load takes over what the disk has, before what there is already. A file that is not ours, or is another process's, is never written.
func (l *Log) load(k *keeper) error {
	b, ours, err := k.disk.load()
	var c content
	if err == nil {
		if c, err = parse(b); err != nil {
			err = fmt.Errorf("%s: %w", l.path, err)
		}
	}
	if k.taken = err != nil; k.taken {
		k.disk.close()
		l.tell(time.Now(), err)
		return err
	}
	l.mu.Lock()
	late := l.ring.lines
	l.ring = ring{}
	for _, one := range c.lines {
		one.text = bytes.Clone(one.text) // and not all of the file
		l.ring.add(one)
	}
	l.written = l.ring.last
	for _, one := range late {
		_, r, _ := decode(one.text)
		l.add(r)
	}
	l.mu.Unlock()
	k.whole, k.lines, k.size = c.whole && ours, len(c.lines), len(b)
	if c.damaged > 0 {
		l.log.Warn("history: lines of the file are damaged, as by a kill or a power cut, and left out", "path", l.path, "lines", c.damaged)
	}
	return nil
}

// Add keeps a transition. It never waits for a disk. After Close it does nothing.
func (l *Log) Add(t instance.Transition) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	r := Record{Boot: l.boot, BootSeconds: bootTime(t.At).Round(time.Microsecond).Seconds(), Transition: t}
	r.At = r.At.Round(time.Microsecond).UTC()
	l.add(r)
	l.wake.Send()
}

// add gives a record the next number. The caller holds the lock.
func (l *Log) add(r Record) {
	r.Number = l.ring.last + 1
	if gone, full := l.ring.add(encode(r)); full && gone.number > l.written {
		l.dropped++
	}
}

// WriteTo writes what there is as a JSON array, the oldest first, as it is read: a slow reader costs no more memory than a few lines, and
// delays nobody.
func (l *Log) WriteTo(w io.Writer) (n int64, err error) {
	out := bytes.NewBufferString("[")
	for number := uint64(0); ; {
		l.mu.Lock()
		some := l.ring.after(number, chunk)
		l.mu.Unlock()
		if len(some) == 0 {
			out.WriteByte(']')
		}
		for _, one := range some {
			if number > 0 {
				out.WriteByte(',')
			}
			out.Write(one.json())
			number = one.number
		}
		m, err := out.WriteTo(w)
		if n += m; err != nil || len(some) == 0 {
			return n, err
		}
	}
}

// Status is nil while nothing is wrong.
func (l *Log) Status() *Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure == nil && l.dropped == 0 {
		return nil
	}
	s := &Status{Path: l.path, Since: l.since, Dropped: l.dropped}
	if l.failure != nil {
		s.Error, s.Code = l.failure.Error(), code.HistoryUnwritten
	}
	return s
}

// Close writes what is not in the file yet, for a second at most.
func (l *Log) Close() {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.close)
	}
	l.mu.Unlock()
	select {
	case <-l.ended:
	case <-time.After(closeTime):
		l.log.Warn("history: the disk does not answer; the newest transitions may be lost", "path", l.path)
	}
}

// run writes until Close, and what there is then.
func (l *Log) run(k *keeper) {
	defer close(l.ended)
	if k.taken && !l.regain(k) {
		return
	}
	defer k.disk.close()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-l.wake:
		case <-timer.C:
		case <-l.close:
			for range 2 { // what cannot be added to a file that somebody has taken away is written as a whole
				k.kept, k.retry = time.Time{}, time.Time{}
				if l.keep(k); k.failure == nil {
					break
				}
			}
			return
		}
		if due := l.keep(k); !due.IsZero() {
			timer.Reset(time.Until(due))
		}
	}
}

// regain tries again until the place of the file is free, or the file is ours, as when the process that had it has ended. Before that nothing is
// written: what stands there is not ours, or another process's. It has failed when the log is closed.
func (l *Log) regain(k *keeper) bool {
	wait := firstRetry
	again := time.NewTimer(wait)
	defer again.Stop()
	for {
		select {
		case <-l.close:
			return false
		case <-again.C:
		}
		if l.load(k) == nil {
			l.keep(k)
			l.tell(time.Now(), k.failure)
			return true
		}
		wait = min(2*wait, lastRetry)
		again.Reset(wait)
	}
}

// keep has the file keep what is new.
func (l *Log) keep(k *keeper) (due time.Time) {
	l.mu.Lock()
	last, more := l.ring.last, l.ring.after(l.written, maxRecords)
	l.mu.Unlock()
	if len(more) == 0 && !k.unkept {
		return time.Time{}
	}
	written, due := k.write(time.Now(), more, func() []line { return l.all(&last) })
	l.mu.Lock()
	if written {
		l.written = last
	}
	l.mu.Unlock()
	l.tell(time.Now(), k.failure)
	return due
}

// all are the lines that are there now, and the number of the newest.
func (l *Log) all(last *uint64) []line {
	l.mu.Lock()
	defer l.mu.Unlock()
	*last = l.ring.last
	return l.ring.after(0, maxRecords)
}

// tell notes why the file does not have what it should have, and logs it once, and once that it is over.
func (l *Log) tell(now time.Time, err error) {
	l.mu.Lock()
	was := l.failure
	if l.failure = err; was == nil || err == nil {
		l.since = now
	}
	if err == nil {
		l.since = time.Time{}
	}
	l.mu.Unlock()
	switch {
	case err != nil && was == nil:
		l.log.Warn("history: the transitions are kept in memory only", "code", string(code.HistoryUnwritten), "error", err, "remedy", code.HistoryUnwritten.Entry().Remedy)
	case err == nil && was != nil:
		l.log.Info("history: the transitions are in the file again", "path", l.path)
	}
}
