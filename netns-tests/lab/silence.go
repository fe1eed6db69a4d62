package lab

import (
	"slices"
	"time"
)

// crossing is for how long an advertisement may be on its way from the switch to a node, and that node's from its decision to the switch.
const crossing = 6 * time.Millisecond

// BySilence is how often from the instant on a node began to advertise addresses when the one before it had not advertised for three of its
// intervals: it has to, and that is no more than a dead holder's due. So it is where that one was late, and its advertisement crosses the new one's:
// the taker had decided before it heard it.
func (r *Report) BySilence(from time.Duration) int { return r.silences(from, true) }

// Silences is the same, also where the one that had ceased to advertise went on by itself: it may have yielded the addresses, as nobody knew better.
func (r *Report) Silences(from time.Duration) int { return r.silences(from, false) }

func (r *Report) silences(from time.Duration, moved bool) int {
	type said struct {
		Advert

		before time.Duration // when its node had advertised before that
	}
	last, most := map[router]said{}, map[router]int{}
	n := 0
	for _, a := range r.Adverts {
		if a.Priority == 0 {
			continue
		}
		k := a.router()
		next := said{a, a.At}
		before, known := last[k]
		if known && before.Node == a.Node {
			next.before = before.At
		}
		crosses := before.Node != a.Node && a.At-before.At <= crossing && a.At-before.before >= 3*before.Interval
		if known && r.bound(a) >= from && (before.Node != a.Node || !moved) && (crosses || a.At-before.At >= 3*before.Interval) {
			most[k]++
			n = max(n, most[k])
		}
		last[k] = next
	}
	for k, a := range last { // a node has bound the addresses, and what it advertises comes after the end of the record
		overdue := a.At + 3*a.Interval
		taken := slices.ContainsFunc(r.Binds, func(b Bind) bool { return b.Added && b.Node != a.Node && b.At >= max(from, overdue) })
		if r.Ended >= max(from, overdue) && (taken || !moved) {
			n = max(n, most[k]+1)
		}
	}
	return n
}

// bound is when the node bound an address under the lease of its advertisement, or when it advertised, if it had bound it before.
func (r *Report) bound(a Advert) time.Duration {
	i := slices.IndexFunc(r.Binds, func(b Bind) bool { return b.Added && b.Node == a.Node && b.At >= a.At && b.At < a.At+3*a.Interval })
	if i < 0 {
		return a.At
	}
	return r.Binds[i].At
}
