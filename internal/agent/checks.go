package agent

import (
	"net/netip"
	"time"
)

// judge passes a check's verdict on as part of the fitness.
func (l *loop) judge(r result) {
	before, news := l.checks.take(r)
	if !news {
		return
	}
	if r.Known && (!before.Known || before.Healthy != r.Healthy) {
		l.logVerdict(r)
	}
	l.fit()
}

func (l *loop) logVerdict(r result) {
	args := []any{"healthy", r.Healthy, "reason", r.Reason}
	if r.check != "" {
		args = append([]any{"check", r.check}, args...)
	}
	if r.Hint != "" {
		args = append(args, "hint", r.Hint)
	}
	l.log.Info("health changed", args...)
}

// adjust takes over a configuration that needs no new election. What has not changed is not touched.
func (l *loop) adjust(in Instance) {
	old := l.in
	in.Checks = l.checks.change(in.Checks)
	l.in = in
	l.mu.Lock()
	l.view.in = in
	l.mu.Unlock()
	l.dropFormer(old)
	if l.elector == nil {
		return
	}
	l.elector.SetProbe(in.Fresh)
	l.adjustFence(old) // first: an advertisement of the new interval makes the others wait no longer than it says
	if in.Adjust != nil {
		in.Adjust(l.elector, l.place)
	}
	l.adjustDetector()
	if !l.renewal.IsZero() { // the new ones may live shorter
		l.renewal = earlier(l.renewal, in.renewAfter(time.Now()))
	}
	if l.holdsLease() {
		l.settle(holdBind)
		l.restartAnnouncing()
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// dropFormer removes addresses that are not in the list any more.
func (l *loop) dropFormer(old Instance) {
	keep := map[string]bool{}
	for _, p := range l.in.Addresses {
		keep[p.String()] = true
	}
	for _, b := range l.host.Bound(old.Addresses) {
		if keep[b.Prefix.String()] {
			continue
		}
		if err := l.host.Unbind(b.Index, []netip.Prefix{b.Prefix}); err != nil {
			l.log.Warn("former address not removed", "address", b.Prefix.String(), "error", err)
		}
	}
}
