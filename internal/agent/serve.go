package agent

import (
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/election"
)

// countEvery is how often the connections are counted that are still served.
const countEvery = 100 * time.Millisecond

// server is an elector that tells the others that this node serves connections.
type server interface{ SetServing(serving bool) }

// serving is a node that has passed the addresses on and serves the connections that came through it: the addresses stay
// bound, discovery stays shut, and the next node sends on what clients say on them. It belongs to the loop's goroutine.
type serving struct {
	next time.Time // when to look; zero: nothing is served
	beat time.Time // when the addresses' lifetime is renewed
}

// tellServing lets the next node know from the beginning.
func (l *loop) tellServing() {
	if s, ok := l.elector.(server); ok {
		s.SetServing(!l.desired.drainUntil.IsZero())
	}
}

// serve begins, and tells whether there is anything to serve. Connections of the other family cannot be sent on: the other
// node knows one address of this node.
func (l *loop) serve(c election.Change) bool {
	now := time.Now()
	if c.To != election.Backup || l.fence == nil || !now.Before(l.desired.drainUntil) {
		return false
	}
	l.serving = serving{next: now, beat: now}
	l.setServing(true, 0)
	var others []netip.Addr
	for _, a := range l.in.hosts() {
		if a.Is4() != l.place.Source.Is4() {
			others = append(others, a)
		}
	}
	l.reset(others)
	l.log.Info("address passed on; its connections are served until they end", "to", c.Holder.String())
	l.serveDue(now)
	return true
}

func (l *loop) setServing(serving bool, cut int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.view.serving, l.view.cut = serving, cut
}

// served are the addresses whose connections are sent on to this node.
func (l *loop) served() []netip.Addr {
	var out []netip.Addr
	for _, a := range l.in.hosts() {
		if a.Is4() == l.place.Source.Is4() {
			out = append(out, a)
		}
	}
	return out
}

// serveDue keeps the lease alive, which no advertisement does any more, and ends when there is nothing left to serve.
func (l *loop) serveDue(now time.Time) {
	if l.serving.next.IsZero() || now.Before(l.serving.next) {
		return
	}
	n, err := l.host.Connections(l.served())
	if err != nil {
		l.log.Warn("connections not counted", "error", err)
	}
	if n == 0 || !now.Before(l.desired.drainUntil) {
		l.stopServing(n)
		return
	}
	l.serving.next = now.Add(min(l.in.Lease/3, countEvery))
	until := now.Add(l.in.Lease)
	l.fence.ask(fenceJob{held: true, do: func(f Fence) error { return f.Renew(until) }}, 0)
	if now.Before(l.serving.beat) {
		return
	}
	l.serving.beat = l.in.renewAfter(now)
	l.uncorrected(l.bind())
	l.fence.ask(fenceJob{held: true, do: Fence.Hold}, 0)
}

// stopServing lets go, and says how many connections did not end by themselves.
func (l *loop) stopServing(left int) {
	l.forgetServing()
	l.setPassing(false)
	l.uncorrected(l.letGo())
	l.setServing(false, left)
	l.log.Info("connections are served no more", "reset", left)
}

// countCut notes the connections that were to be served and cannot be: there is no fence, or the next node took the address
// without being asked.
func (l *loop) countCut() {
	if l.desired.drainUntil.IsZero() {
		return
	}
	n, err := l.host.Connections(l.in.hosts())
	if err != nil {
		l.log.Warn("connections not counted", "error", err)
	}
	l.setServing(false, n)
}

// endServing forgets about it; what has ended it decides about the addresses.
func (l *loop) endServing() {
	if !l.serving.next.IsZero() {
		l.forgetServing()
		l.setServing(false, 0)
	}
}

// forgetServing leaves it to the caller to tell that it is over, when it is.
func (l *loop) forgetServing() {
	l.serving = serving{}
	l.desired.drainUntil = time.Time{}
	l.setDesired(l.desired)
	l.tellServing()
}

// serves is safe from any goroutine.
func (l *loop) serves() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.view.serving
}

// cutOff is safe from any goroutine.
func (l *loop) cutOff() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.view.cut
}
