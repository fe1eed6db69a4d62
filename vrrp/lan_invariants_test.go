package vrrp

import (
	"slices"
	"strings"
	"time"
)

// invariants watches a lan:
//
//   - with everybody connected and awake, exactly one is Active within one Active_Down_Interval of the last
//     disturbance, it has the highest priority if all preempt, and every client believes its announcement;
//   - two that can hear each other are not both Active for longer than one exchange of advertisements;
//   - a loser changes state before the winner's last announcement (which the clients' caches show).
type invariants struct {
	disturbed time.Duration              // when the link or a host changed last
	quiet     time.Duration              // when what was set off by earlier changes is over
	pairs     map[[2]*host]time.Duration // since when both are Active and hear each other
	unheard   bool                       // not everybody could hear the last change

	// since the last mark
	outage, overlap      time.Duration // longest without, and with more than one, Active
	noneSince, manySince time.Duration
	takeovers            int
	everActive           bool
}

func (w *invariants) reset() { *w = invariants{pairs: map[[2]*host]time.Duration{}} }

// mark starts the counts anew.
func (w *invariants) mark(now time.Duration) {
	w.outage, w.overlap, w.takeovers = 0, 0, 0
	w.noneSince, w.manySince = now, now
}

func (w *invariants) changed(l *lan, h *host, c Change) {
	if c.To == Active {
		w.takeovers++
	}
	if c.From == Active || c.To == Active {
		w.unheard = l.loss > 0 || l.cut()
		h.silent = c.Reason == ReasonFrozen
	}
}

func (h *host) active() bool { return h.m != nil && h.m.state == Active }

// answering hosts hold the addresses and are awake.
func (l *lan) answering() (hosts []*host) {
	for _, h := range l.hosts {
		if h.active() && !h.frozen {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// pass accounts for the time from now to at, in which nothing happens.
func (w *invariants) pass(l *lan, at time.Duration) {
	n := len(l.answering())
	if n > 0 {
		w.noneSince, w.everActive = at, true
	}
	if n < 2 {
		w.manySince = at
	}
	if w.everActive {
		w.outage = max(w.outage, at-w.noneSince)
	}
	w.overlap = max(w.overlap, at-w.manySince)
}

func (w *invariants) check(l *lan) {
	w.checkPairs(l)
	if l.connected() && l.now > max(w.quiet, w.disturbed+l.settle()) {
		w.checkSettled(l)
	}
}

// checkPairs bounds how long two can both be Active.
func (w *invariants) checkPairs(l *lan) {
	both := map[[2]*host]time.Duration{}
	active := l.answering()
	for i, a := range active {
		for _, b := range active[i+1:] {
			if a.side != b.side || l.loss > 0 {
				continue
			}
			pair := [2]*host{a, b}
			since, ok := w.pairs[pair]
			if !ok {
				since = l.now
			}
			both[pair] = since
			if most := l.longestInterval() + 2*l.delay + l.late; l.now-since > most {
				l.fail("%s and %s are both Active for %v, want at most %v", a.name, b.name, l.now-since, most)
			}
		}
	}
	w.pairs = both
}

func (w *invariants) checkSettled(l *lan) {
	active := l.answering()
	if len(active) != 1 {
		l.fail("%d are Active (%s) after %v, want 1", len(active), names(active), l.now-w.disturbed)
	}
	holder := active[0]
	for _, h := range l.hosts {
		if h.m == nil {
			continue
		}
		if h.cfg.Preempt && h.m.priority > holder.m.priority {
			l.fail("%s with priority %d is Active, %s has %d", holder.name, holder.m.priority, h.name, h.m.priority)
		}
	}
	for _, h := range l.hosts {
		if h.cache != holder && !w.unheard && !excused(h.cache) {
			l.fail("the client at %s believes %s, want %s", h.name, h.cache.name, holder.name)
		}
	}
}

// excused are holders that vanished without a word behind a partition: nobody can know of them, only a later refresh of
// the announcements helps.
func excused(h *host) bool { return h == nil || h.m == nil || h.silent }

func (l *lan) cut() bool {
	return slices.ContainsFunc(l.hosts, func(h *host) bool { return h.side != 0 })
}

// connected reports whether everybody who is on hears everybody.
func (l *lan) connected() bool {
	on := 0
	for _, h := range l.hosts {
		if h.frozen {
			return false
		}
		if h.m != nil {
			on++
		}
	}
	return l.loss == 0 && !l.cut() && on > 0
}

// settle is the longest Active_Down_Interval on the link, with the delays that are configured and the link's own.
func (l *lan) settle() time.Duration {
	longest := time.Duration(0)
	for _, h := range l.hosts {
		if h.m == nil {
			continue
		}
		d := h.m.activeDownInterval(l.longestInterval()) + h.tieBreakDelay + h.cfg.StartupDelay
		if h.cfg.PreemptDelay > 0 {
			d += h.cfg.PreemptDelay + h.m.activeDownInterval(l.longestInterval())
		}
		longest = max(longest, d)
	}
	return longest + 2*(l.delay+l.late) + finalTimes[len(finalTimes)-1]
}

func (l *lan) longestInterval() (longest time.Duration) {
	for _, h := range l.hosts {
		longest = max(longest, h.cfg.Interval, h.cfg.StartupInterval)
	}
	return longest
}

func names(hosts []*host) string {
	var all []string
	for _, h := range hosts {
		all = append(all, h.name)
	}
	return strings.Join(all, " ")
}
