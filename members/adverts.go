package members

import (
	"net/netip"
	"slices"
	"time"
)

// lastAdverts are when the advertisements of each sender were heard last.
type lastAdverts struct{ list []lastAdvert }

type lastAdvert struct {
	source netip.Addr
	at     time.Time
}

// hear notes an advertisement. With the list full, the one that is oldest makes room, but none of a member: whoever invents
// routers would make the advertisements of the holder seem to be missing.
func (e *lastAdverts) hear(source netip.Addr, at time.Time, member func(netip.Addr) bool) {
	i := slices.IndexFunc(e.list, func(o lastAdvert) bool { return o.source == source })
	switch {
	case i >= 0:
		e.list[i].at = later(e.list[i].at, at)
	case len(e.list) < maxMembers:
		e.list = append(e.list, lastAdvert{source, at})
	default:
		if i := e.oldestBut(member); i >= 0 {
			e.list[i] = lastAdvert{source, at}
		}
	}
}

// oldestBut is the index of the oldest that is not of a member, -1 if there is none.
func (e *lastAdverts) oldestBut(member func(netip.Addr) bool) int {
	oldest := -1
	for i, o := range e.list {
		if (oldest < 0 || o.at.Before(e.list[oldest].at)) && !member(o.source) {
			oldest = i
		}
	}
	return oldest
}

// last is zero if there was none.
func (e *lastAdverts) last(source netip.Addr) time.Time {
	for _, o := range e.list {
		if o.source == source {
			return o.at
		}
	}
	return time.Time{}
}
