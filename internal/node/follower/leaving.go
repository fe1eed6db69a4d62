package follower

import (
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/members/slots"
)

const (
	// countEvery is how often connections to members are counted that get no new ones: an operator may wait for the end of them. The kernel goes
	// through all that it tracks, so a member that stays like that has it done seldom.
	countEvery, countSeldom = time.Second, 10 * time.Second
	// oftenFor is for how long they are counted often.
	oftenFor = 2 * time.Minute
)

// leaving counts the connections to members that get no new ones.
type leaving struct {
	members []netip.Addr // own addresses
	since   time.Time    // when one was added
	counted time.Time
	failed  bool // and that was said
}

// countLeaving tells members that get no new connections how many they still have of this host.
func (e *entry) countLeaving(now time.Time) {
	l := &e.leaving
	members := e.withoutNew()
	if slices.ContainsFunc(members, func(a netip.Addr) bool { return !slices.Contains(l.members, a) }) {
		l.since, l.counted = now, time.Time{}
	}
	l.members = members
	every := countEvery
	if now.Sub(l.since) > oftenFor {
		every = countSeldom
	}
	switch {
	case len(members) == 0:
		e.machine.Count(now, nil)
		return
	case now.Sub(l.counted) < every:
		return
	}
	l.counted = now
	counts, err := e.connections(members)
	if err != nil && !l.failed {
		e.log.Warn("connections are not counted: a member that is drained cannot know when the last one has ended", "error", err)
	}
	l.failed = err != nil
	e.machine.Count(now, counts)
}

// withoutNew are the members that say that they are to get no new connections to some port.
func (e *entry) withoutNew() (out []netip.Addr) {
	if !e.told {
		return nil
	}
	for _, s := range e.states {
		keeps := func(p config.SpreadPort) bool { return s.On(p.Protocol.Number(), p.Port) == slots.Keeps }
		if !s.Silent && slices.ContainsFunc(e.Ports, keeps) {
			out = append(out, s.Address)
		}
	}
	return out
}

// connections are those of this host to these members.
func (e *entry) connections(members []netip.Addr) (map[netip.Addr]uint32, error) {
	all := map[netip.Addr]int{}
	if e.plane != nil {
		var err error
		if all, err = e.plane.Connections(); err != nil {
			return nil, err
		}
	}
	if e.proxy != nil {
		for at, n := range e.proxy.Stats().ByBackend {
			all[at.Addr()] += n
		}
	}
	out := map[netip.Addr]uint32{}
	for _, s := range e.states {
		if slices.Contains(members, s.Address) {
			out[s.Address] = uint32(all[s.Address])
			if s.Other.IsValid() {
				out[s.Address] += uint32(all[s.Other])
			}
		}
	}
	return out, nil
}
