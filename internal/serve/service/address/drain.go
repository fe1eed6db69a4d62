package address

import (
	"net/netip"
	"time"
)

// countEvery is how often the connections are counted that are still open.
const countEvery = 100 * time.Millisecond

// drainTeller is an elector that tells the others that this node drains connections.
type drainTeller interface{ SetDraining(draining bool) }

// drain is of connections, after the addresses have been passed on: the addresses stay bound, discovery stays shut, and the next node
// forwards what clients say on them. It belongs to the service's goroutine.
type drain struct {
	*core
	until time.Time // how long connections may be drained, as an operator wants it; zero: not at all
	next  time.Time // when to look; zero: nothing is drained
	beat  time.Time // when the addresses' lifetime is renewed
	open  int       // connections, as counted last; 1: not yet
	blind bool      // they could not be counted last
}

// want is what an operator asks for.
func (r *drain) want(until time.Time) {
	if r.until.IsZero() && !until.IsZero() {
		r.shown.set(func(s *shown) { s.resets = 0 }) // of an earlier one
	}
	if until != r.until {
		r.until = until
		r.tell()
	}
}

// tell lets the next node know from the beginning.
func (r *drain) tell() {
	if e, ok := r.elector.(drainTeller); ok {
		e.SetDraining(!r.until.IsZero())
	}
}

// start begins. The addresses are also those whose connections cannot be drained: the next node knows one address of this node, and
// forwards those of its family only.
func (r *drain) start(now time.Time) (others []netip.Addr) {
	r.next, r.beat, r.open = now, now, 1
	r.show(true, 0)
	_, others = r.families()
	return others
}

// families are the addresses whose connections are forwarded to this node, and the others.
func (r *drain) families() (forwarded, others []netip.Addr) {
	for _, a := range r.cfg.hosts() {
		if a.Is4() == r.place.Source.Is4() {
			forwarded = append(forwarded, a)
		} else {
			others = append(others, a)
		}
	}
	return forwarded, others
}

// due tells what there is to do: nothing; or to keep the addresses here for another while; or to let go of them, with so many
// connections that did not end by themselves.
func (r *drain) due(now time.Time) (keep, over bool, left int) {
	if r.next.IsZero() || now.Before(r.next) {
		return false, false, 0
	}
	forwarded, _ := r.families()
	left = r.count(forwarded)
	if left == 0 || !now.Before(r.until) {
		return false, true, left
	}
	r.next = now.Add(min(r.cfg.Lease/3, countEvery))
	return true, false, left
}

// beatDue tells whether the addresses' lifetime is to be renewed.
func (r *drain) beatDue(now time.Time) bool {
	if now.Before(r.beat) {
		return false
	}
	r.beat = r.cfg.renewAfter(now)
	return true
}

// count counts the connections. What cannot be counted is taken to be as before: it would be reset otherwise.
func (r *drain) count(addresses []netip.Addr) int {
	n, err := r.host.Connections(addresses)
	if err == nil {
		r.open = n
	} else if !r.blind {
		r.log.Warn("connections not counted: those of the last count are taken to be there", "error", err)
	}
	r.blind = err != nil
	return r.open
}

// countUndrained notes the connections that were to be drained and cannot be: there is no fence, or the next node took the address
// without being asked.
func (r *drain) countUndrained() {
	if !r.until.IsZero() {
		r.show(false, r.count(r.cfg.hosts()))
	}
}

// cancel forgets about it; what has ended it decides about the addresses.
func (r *drain) cancel() {
	if !r.next.IsZero() {
		r.clear()
		r.show(false, 0)
	}
}

// clear leaves it to the caller to tell that it is over, when it is.
func (r *drain) clear() {
	r.next, r.beat = time.Time{}, time.Time{}
	r.want(time.Time{})
}

// keepDraining renews the lease for connections that are drained. It does not wait.
func (f *fencer) keepDraining(until time.Time) {
	f.ask(fenceJob{held: true, repeated: true, do: func(fence Fence) error {
		f.setDrainEnd(until)
		return fence.Renew(until)
	}}, 0)
}

func (r *drain) show(draining bool, resets int) {
	r.shown.set(func(s *shown) { s.draining, s.resets = draining, resets })
}
