package agent

import (
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/election"
)

// countEvery is how often the connections are counted that are still open.
const countEvery = 100 * time.Millisecond

// drainTeller is an elector that tells the others that this node drains connections.
type drainTeller interface{ SetDraining(draining bool) }

// draining is a node that has passed the addresses on and drains the connections that came through it: the addresses stay
// bound, discovery stays shut, and the next node forwards what clients say on them. It belongs to the loop's goroutine.
type draining struct {
	next time.Time // when to look; zero: nothing is drained
	beat time.Time // when the addresses' lifetime is renewed
}

// tellDraining lets the next node know from the beginning.
func (l *loop) tellDraining() {
	if s, ok := l.elector.(drainTeller); ok {
		s.SetDraining(!l.desired.drainUntil.IsZero())
	}
}

// startDraining begins, and tells whether there is anything to drain. Connections of the other family cannot be forwarded: the other
// node knows one address of this node.
func (l *loop) startDraining(d election.Decision) bool {
	now := time.Now()
	if d.Role != election.Standby || l.fence == nil || !now.Before(l.desired.drainUntil) {
		return false
	}
	l.draining = draining{next: now, beat: now}
	l.setDraining(true, 0)
	var others []netip.Addr
	for _, a := range l.in.hosts() {
		if a.Is4() != l.place.Source.Is4() {
			others = append(others, a)
		}
	}
	l.reset(others)
	l.log.Info("address passed on; its connections are drained", "to", d.Holder.String())
	l.drainDue(now)
	return true
}

func (l *loop) setDraining(draining bool, resets int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.view.draining, l.view.resets = draining, resets
}

// drained are the addresses whose connections are forwarded to this node.
func (l *loop) drained() []netip.Addr {
	var out []netip.Addr
	for _, a := range l.in.hosts() {
		if a.Is4() == l.place.Source.Is4() {
			out = append(out, a)
		}
	}
	return out
}

// drainDue keeps the lease alive, which no advertisement does any more, and ends when no connection is left.
func (l *loop) drainDue(now time.Time) {
	if l.draining.next.IsZero() || now.Before(l.draining.next) {
		return
	}
	n, err := l.host.Connections(l.drained())
	if err != nil {
		l.log.Warn("connections not counted", "error", err)
	}
	if n == 0 || !now.Before(l.desired.drainUntil) {
		l.finishDraining(n)
		return
	}
	l.draining.next = now.Add(min(l.in.Lease/3, countEvery))
	until := now.Add(l.in.Lease)
	l.fence.ask(fenceJob{held: true, do: func(f Fence) error { return f.Renew(until) }}, 0)
	if now.Before(l.draining.beat) {
		return
	}
	l.draining.beat = l.in.renewAfter(now)
	l.uncorrected(l.bind())
	l.fence.ask(fenceJob{held: true, do: Fence.Hold}, 0)
}

// finishDraining lets go, and says how many connections did not end by themselves.
func (l *loop) finishDraining(left int) {
	l.clearDraining()
	l.setPassing(false)
	l.uncorrected(l.letGo())
	l.setDraining(false, left)
	l.log.Info("draining of connections ended", "reset", left)
}

// countUndrained notes the connections that were to be drained and cannot be: there is no fence, or the next node took the address
// without being asked.
func (l *loop) countUndrained() {
	if l.desired.drainUntil.IsZero() {
		return
	}
	n, err := l.host.Connections(l.in.hosts())
	if err != nil {
		l.log.Warn("connections not counted", "error", err)
	}
	l.setDraining(false, n)
}

// cancelDraining forgets about it; what has ended it decides about the addresses.
func (l *loop) cancelDraining() {
	if !l.draining.next.IsZero() {
		l.clearDraining()
		l.setDraining(false, 0)
	}
}

// clearDraining leaves it to the caller to tell that it is over, when it is.
func (l *loop) clearDraining() {
	l.draining = draining{}
	l.desired.drainUntil = time.Time{}
	l.setDesired(l.desired)
	l.tellDraining()
}

// drains tells that connections are drained, or may be as soon as the next node has announced the addresses. It is safe from any
// goroutine.
func (l *loop) drains() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.view.draining || l.view.passing
}

// resetCount is how many connections were reset when draining ended; it is safe from any goroutine.
func (l *loop) resetCount() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.view.resets
}
