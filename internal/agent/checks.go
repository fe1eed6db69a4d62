package agent

import (
	"context"
	"net/netip"
)

// startCheck runs the instance's check until unchecks is called.
func (l *loop) startCheck(ctx context.Context) {
	l.unchecks = func() {}
	if l.in.Check == nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func(check func(context.Context, func(Verdict))) {
		defer close(done)
		check(ctx, func(v Verdict) {
			select {
			case l.verdicts <- v:
			case <-ctx.Done():
			}
		})
	}(l.in.Check)
	l.unchecks = func() { cancel(); <-done }
}

// judge passes a verdict on as fitness.
func (l *loop) judge(v Verdict) {
	before := l.verdict
	l.verdict = v
	if v.Known && (!before.Known || before.Healthy != v.Healthy) {
		l.logVerdict(v)
	}
	l.fit()
}

func (l *loop) logVerdict(v Verdict) {
	args := []any{"healthy", v.Healthy, "reason", v.Reason}
	if v.Hint != "" {
		args = append(args, "hint", v.Hint)
	}
	l.log.Info("health changed", args...)
}

// adjust takes over a configuration that needs no new election. What has not changed is not touched.
func (l *loop) adjust(ctx context.Context, in Instance) {
	old := l.in
	sameCheck := in.CheckID == old.CheckID
	if sameCheck {
		in.Check, in.Checked, in.Probe = old.Check, old.Checked, old.Probe
	}
	l.in = in
	l.mu.Lock()
	l.view.in = in
	l.mu.Unlock()
	l.dropFormer(old)
	if !sameCheck {
		l.unchecks()
		l.verdict = Verdict{}
		l.startCheck(ctx)
	}
	if l.elector == nil {
		return
	}
	l.elector.SetProbe(in.Probe)
	if in.Adjust != nil {
		in.Adjust(l.elector, l.place)
	}
	l.adjustFence(old)
	l.adjustLookout()
	if l.tenured() {
		l.settle(holdBind)
		l.restartAnnouncing()
	}
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
