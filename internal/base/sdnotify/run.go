package sdnotify

import (
	"context"
	"log/slog"
	"strings"
	"time"
)

// statusEvery is how often the status is looked at when the manager has no watchdog.
const statusEvery = 5 * time.Second

// pulse says in a line what the process does, or why it must not count as alive.
type pulse func() (status string, err error)

// Run tells the manager READY as soon as pulse has no error, and STOPPING when serving has ended, and returns when alive has. Until then a manager
// with a watchdog hears a sign of life three times in its time, but only while pulse has no error; the manager sees
// a new status at the same pace.
func (n *Notifier) Run(serving, alive context.Context, pulse pulse, log *slog.Logger) {
	if n == nil {
		return
	}
	r := runner{Notifier: n, pulse: pulse, log: log}
	r.beat()
	ticker := time.NewTicker(n.pace())
	defer ticker.Stop()
	stopping := serving.Done()
	for {
		select {
		case <-alive.Done():
			return
		case <-stopping:
			stopping = nil
			r.tell("STOPPING=1")
		case <-ticker.C:
			r.beat()
		}
	}
}

func (n *Notifier) pace() time.Duration {
	if n.watchdog > 0 {
		return n.watchdog / 3
	}
	return statusEvery
}

// runner is one Run.
type runner struct {
	*Notifier
	pulse  pulse
	log    *slog.Logger
	ready  bool   // and the manager knows
	status string // as last told
	stuck  bool
	deaf   bool
}

func (r *runner) beat() {
	status, err := r.pulse()
	if err != nil {
		if !r.stuck {
			r.log.Error("no sign of life to the service manager", "reason", err.Error())
		}
		r.stuck = true
		return
	}
	r.stuck = false
	var news []string
	if !r.ready {
		news = append(news, "READY=1")
	}
	if r.watchdog > 0 {
		news = append(news, "WATCHDOG=1")
	}
	if status != r.status {
		news = append(news, statusLine(status))
	}
	if len(news) > 0 && r.tell(strings.Join(news, "\n")) {
		r.ready, r.status = true, status
	}
}

// tell logs only the first of several failures.
func (r *runner) tell(message string) bool {
	err := r.send(message)
	if err != nil && !r.deaf {
		r.log.Warn("the service manager cannot be told", "error", err)
	}
	r.deaf = err != nil
	return err == nil
}
