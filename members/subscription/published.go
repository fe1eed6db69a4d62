package subscription

import (
	"net/netip"
	"slices"
	"time"
)

// published is one group. Its maps are of its subscribers: a question is answered without a look at all of them.
type published struct {
	group       netip.Addr
	report      *Report   // nil: nothing is known
	told        time.Time // when it was
	changed     time.Time
	pending     bool          // a change waits for changeGap
	subscribers []*subscriber // in the order in which they came
	at          map[netip.AddrPort][]*subscriber
	of          map[netip.Addr]int // how many an address has
	by          map[string]int     // how many a host has
	sizes       map[int]int        // how many hosts have so many
	next        time.Time          // nobody is due, and no lease is over, before; zero: nobody is
	looked      time.Time          // when those that are due were looked for, all of them
	behind      int                // from this subscriber on there may be some that were not told the newest change
}

func newPublished(group netip.Addr) *published {
	return &published{
		group: group, at: map[netip.AddrPort][]*subscriber{}, of: map[netip.Addr]int{}, by: map[string]int{}, sizes: map[int]int{},
	}
}

func (g *published) add(s *subscriber) {
	g.subscribers = append(g.subscribers, s)
	g.at[s.from] = append(g.at[s.from], s)
	g.of[s.from.Addr()]++
	g.count(s.host, 1)
}

// remove forgets one that is about to leave the list.
func (g *published) remove(s *subscriber) {
	g.behind = 0
	same := slices.DeleteFunc(g.at[s.from], func(o *subscriber) bool { return o == s })
	if g.at[s.from] = same; len(same) == 0 {
		delete(g.at, s.from)
	}
	if g.of[s.from.Addr()]--; g.of[s.from.Addr()] == 0 {
		delete(g.of, s.from.Addr())
	}
	g.count(s.host, -1)
}

// count changes how many a host has.
func (g *published) count(host string, by int) {
	before := g.by[host]
	if g.sizes[before]--; g.sizes[before] <= 0 {
		delete(g.sizes, before)
	}
	if g.by[host] = before + by; g.by[host] == 0 {
		delete(g.by, host)
		return
	}
	g.sizes[before+by]++
}

// heaviest is a host that has more than others, and how many: where all have one each, that is known without a look at them.
func (g *published) heaviest() (host string, most int) {
	for n := range g.sizes {
		most = max(most, n)
	}
	if most <= 1 {
		return "", most
	}
	for name, n := range g.by {
		if n == most {
			return name, most
		}
	}
	return "", 0
}

func (g *published) expire(now time.Time) {
	g.drop(func(s *subscriber) bool { return !now.Before(s.expires) })
}

// drop ends subscriptions. While there is none nothing is known: nobody tells it.
func (g *published) drop(which func(*subscriber) bool) {
	g.subscribers = slices.DeleteFunc(g.subscribers, func(s *subscriber) bool {
		gone := which(s)
		if gone {
			g.remove(s)
		}
		return gone
	})
	if len(g.subscribers) == 0 {
		g.report, g.next = nil, time.Time{}
	}
}

// isBehind tells whether somebody was not told the newest change.
func (g *published) isBehind() bool { return g.report != nil && g.behind < len(g.subscribers) }
