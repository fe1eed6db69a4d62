package route

import (
	"net/netip"
	"time"
)

// leaving is the while after the route is gone in which routers may still send new connections here, which are served. The zero leaving is over.
type leaving struct {
	until  time.Time // no new connection has come by then
	latest time.Time
	known  map[netip.AddrPort]bool // the clients of the look before
}

// leave begins one, with the clients of the connections that there are. An operator who waits for connections until drain waits for it, too.
func leave(now, drain time.Time, clients []netip.AddrPort) leaving {
	l := leaving{until: now.Add(settle), latest: now.Add(mostSettle)}
	if drain.After(l.latest) {
		l.latest = drain
	}
	l.arrived(clients)
	return l
}

// hurry ends the wait for an operator.
func (l *leaving) hurry(now time.Time) {
	if most := now.Add(mostSettle); most.Before(l.latest) {
		l.latest = most
	}
}

// under tells whether it is under way.
func (l *leaving) under() bool { return !l.until.IsZero() }

// goesOn takes in which clients there are at now, and tells whether it is still under way. It was before.
func (l *leaving) goesOn(now time.Time, clients []netip.AddrPort) bool {
	if l.arrived(clients) {
		l.until = now.Add(settle)
	}
	if now.Before(l.until) && now.Before(l.latest) {
		return true
	}
	*l = leaving{}
	return false
}

// arrived tells whether one of the clients was not there at the look before.
func (l *leaving) arrived(clients []netip.AddrPort) (fresh bool) {
	before := l.known
	l.known = make(map[netip.AddrPort]bool, len(clients))
	for _, c := range clients {
		fresh = fresh || !before[c]
		l.known[c] = true
	}
	return fresh
}

// next is how long until the next look.
func (l *leaving) next(now time.Time) time.Duration {
	return min(max(min(l.until.Sub(now), l.latest.Sub(now)), 0), countEvery)
}
