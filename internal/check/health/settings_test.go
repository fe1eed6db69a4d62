package health

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/keepvip/keepvip/internal/config"
)

// given is a check with the defaults of the table for what a test does not name, and with Watch.
func given(h config.ListedCheck) config.ListedCheck {
	h.Interval, h.Timeout = cmp.Or(h.Interval, 300*time.Millisecond), cmp.Or(h.Timeout, 600*time.Millisecond)
	h.Rise, h.Fall, h.QuorumMax = cmp.Or(h.Rise, 2), cmp.Or(h.Fall, 3), cmp.Or(h.QuorumMax, config.MostProcesses)
	h.Watch = true
	return h
}

// newChecker makes a Checker with a Prober that nobody else has.
func newChecker(p Prober, h config.ListedCheck, log *slog.Logger) (*Checker, error) {
	return NewProbing(p, h).Checker(h, log)
}
