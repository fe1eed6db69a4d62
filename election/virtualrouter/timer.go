package virtualrouter

import (
	"log/slog"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/base/alarm"
	"github.com/keepvip/keepvip/internal/base/worst"
)

// timer is the one alarm of an elector. All but lag belongs to Run.
type timer struct {
	alarm alarm.Alarm
	came  <-chan time.Time
	due   time.Time // when it is to come

	mu  sync.Mutex // guards lag
	lag worst.Lately
}

// open makes the alarm, one of the kernel's where it is to be and where there is one, and returns what ends it.
func (t *timer) open(kernels bool, log *slog.Logger) (stop func()) {
	t.alarm = alarm.Plain()
	if kernels {
		if a, err := alarm.Open(); err == nil {
			t.alarm = a
		} else {
			log.Debug("the election goes by a timer of the runtime", "error", err)
		}
	}
	t.came, stop = alarm.Hand(t.alarm)
	return stop
}

// set has the alarm come at that time.
func (t *timer) set(due time.Time) {
	t.due = due
	t.alarm.Set(due)
}

// noteLate keeps by how much the timer was served late: what a loaded machine takes from an election.
func (t *timer) noteLate() {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lag.Note(now, now.Sub(t.due))
}

// late is by how much it was served late at most, of the last one to two minutes.
func (t *timer) late(now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lag.Worst(now)
}
