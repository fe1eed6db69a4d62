package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/config"
)

// mostLogLevel bounds for how long the level of the log may be another one than the configured.
const mostLogLevel = 24 * time.Hour

// logLevel is the least severe level of the log: the configured one, or another one for a while. Safe for concurrent use.
type logLevel struct {
	set func(config.LogLevel) // nil: it cannot be changed
	log *slog.Logger

	mu         sync.Mutex // guards what follows
	configured config.LogLevel
	end        *time.Timer // of another one; nil: there is none
}

// lend has another level for a while, in place of a former one. A reload and the end of the process end that, too.
func (l *logLevel) lend(level string, lasts time.Duration) error {
	switch config.LogLevel(level) {
	case config.LogDebug, config.LogInfo, config.LogWarn, config.LogError:
	default:
		return fmt.Errorf("log level %q, want %s, %s, %s or %s", level, config.LogDebug, config.LogInfo, config.LogWarn, config.LogError)
	}
	switch {
	case lasts <= 0 || lasts > mostLogLevel:
		return fmt.Errorf("a log level for %s, want more than 0s and at most %s", lasts, mostLogLevel)
	case l.set == nil:
		return errors.New("the level of this process's log cannot be changed")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stop()
	l.set(config.LogLevel(level))
	var own *time.Timer
	own = time.AfterFunc(lasts, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.end == own { // a later one may have come while this waited for the lock
			l.end = nil
			l.set(l.configured)
			l.log.Info("the log level is the configured one again")
		}
	})
	l.end = own
	return nil
}

// configure has the level that is configured now.
func (l *logLevel) configure(level config.LogLevel) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stop()
	if l.configured = level; l.set != nil {
		l.set(level)
	}
}

// stop ends another level. The caller holds the lock.
func (l *logLevel) stop() {
	if l.end != nil {
		l.end.Stop()
		l.end = nil
	}
}
