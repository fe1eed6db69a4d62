package raft

import (
	"net"
	"net/netip"
	"slices"
	"time"
)

const (
	// maxUnknown is how many callers from unknown addresses may have a place at a time.
	maxUnknown = 8
	// maxFromUnknown is how many of the places one host may have, or one IPv6 link, whose hosts take addresses as they like.
	maxFromUnknown = 2
	// unknownTime is how long each of them keeps its place, and so how long its handshake may take.
	unknownTime = time.Second
)

// unknownCallers are the callers from addresses that belong to no member as far as this node knows. A place is given back by time
// alone, and not by the end of the handshake: places bound how many handshakes are computed in a second, too. It is pure.
type unknownCallers struct{ places []place }

type place struct {
	network netip.Prefix
	until   time.Time
}

// take gives a caller a place; false when there is none.
func (s *unknownCallers) take(now time.Time, from netip.Addr) bool {
	s.places = slices.DeleteFunc(s.places, func(p place) bool { return !now.Before(p.until) })
	network, taken := networkOf(from), 0
	for _, p := range s.places {
		if p.network == network {
			taken++
		}
	}
	if len(s.places) >= maxUnknown || taken >= maxFromUnknown {
		return false
	}
	s.places = append(s.places, place{network, now.Add(unknownTime)})
	return true
}

// networkOf is what one machine can have addresses of at will.
func networkOf(a netip.Addr) netip.Prefix {
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	p, _ := a.Prefix(bits) // the zero Prefix for the zero Addr: those share a network
	return p
}

// callers are connections by address, the oldest first.
type callers map[netip.Addr][]net.Conn

// add notes a connection, and returns the oldest of the same address if there are more than limit; otherwise nil.
func (c callers) add(from netip.Addr, conn net.Conn, limit int) net.Conn {
	c[from] = append(c[from], conn)
	if len(c[from]) <= limit {
		return nil
	}
	oldest := c[from][0]
	c.remove(from, oldest)
	return oldest
}

// remove forgets a connection, and tells whether it was there.
func (c callers) remove(from netip.Addr, conn net.Conn) bool {
	i := slices.Index(c[from], conn)
	if i < 0 {
		return false
	}
	c[from] = slices.Delete(c[from], i, i+1)
	if len(c[from]) == 0 {
		delete(c, from)
	}
	return true
}

// all are the connections of every address.
func (c callers) all() []net.Conn {
	var out []net.Conn
	for _, conns := range c {
		out = append(out, conns...)
	}
	return out
}

// without counts the connections of the addresses that known does not have.
func (c callers) without(known func(netip.Addr) bool) int {
	n := 0
	for from, conns := range c {
		if !known(from) {
			n += len(conns)
		}
	}
	return n
}
