package daemon

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/config"
)

// mostLogLevel bounds for how long the level of the log may be another one than the configured.
const mostLogLevel = 24 * time.Hour

// logLevel has another level of the log for a while. A reload and the end of the process end that, too.
func (d *Daemon) logLevel(level string, lasts time.Duration) error {
	switch config.LogLevel(level) {
	case config.LogDebug, config.LogInfo, config.LogWarn, config.LogError:
	default:
		return fmt.Errorf("log level %q, want %s, %s, %s or %s", level, config.LogDebug, config.LogInfo, config.LogWarn, config.LogError)
	}
	switch {
	case lasts <= 0 || lasts > mostLogLevel:
		return fmt.Errorf("a log level for %s, want more than 0s and at most %s", lasts, mostLogLevel)
	case d.opts.LogLevel == nil:
		return errors.New("the level of this process's log cannot be changed")
	}
	d.borrowed.use(lasts, func() { d.opts.LogLevel(config.LogLevel(level)) }, func() {
		d.opts.LogLevel(d.inForce.Load().Log.Level)
		d.log.Info("the log level is the configured one again")
	})
	return nil
}

// loan is of a value that is another one than the configured for a while. The zero value is ready; safe for concurrent use.
type loan struct {
	mu  sync.Mutex
	end *time.Timer // of the newest loan; nil: there is none
}

// use sets the value, in place of a former loan, and gives it back after that time.
func (l *loan) use(lasts time.Duration, set, giveBack func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stop()
	set()
	var own *time.Timer
	own = time.AfterFunc(lasts, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.end == own { // a later one may have come while this waited for the lock
			l.end = nil
			giveBack()
		}
	})
	l.end = own
}

// over ends a loan by the value that is configured now.
func (l *loan) over(set func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stop()
	set()
}

func (l *loan) stop() {
	if l.end != nil {
		l.end.Stop()
		l.end = nil
	}
}
