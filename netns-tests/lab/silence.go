package lab

import (
	"encoding/binary"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Heard is that a node said something to another one.
type Heard struct {
	At   time.Duration
	Node int
}

// toMembers tells whether a frame says something to another node: a datagram, or a segment with content, for the port of members.
func toMembers(frame []byte) bool {
	ip, content, protocol := frame[min(etherHeader, len(frame)):], []byte(nil), byte(0)
	switch {
	case len(ip) < ipv4Header:
	case ip[0]>>4 == 4:
		size, total := int(ip[0]&0xf)*4, int(binary.BigEndian.Uint16(ip[2:]))
		content, protocol = ip[min(size, len(ip)):min(max(total, size), len(ip))], ip[9]
	case ip[0]>>4 == 6 && len(ip) >= ipv6Header:
		content, protocol = ip[ipv6Header:], ip[6]
	}
	if len(content) < udpHeader || binary.BigEndian.Uint16(content[2:]) != membersPort {
		return false
	}
	switch protocol {
	case unix.IPPROTO_UDP:
		return true
	case unix.IPPROTO_TCP:
		return len(content) > 13 && len(content) > int(content[12]>>4)*4 // not an acknowledgement alone
	}
	return false
}

// Silent is the longest time in [from, to) for which one of these nodes said nothing to the others, without any for all: neither an
// advertisement nor a message. Whoever is silent for long enough is dead to the others, whatever kept it from speaking.
func (r *Report) Silent(from, to time.Duration, nodes ...int) time.Duration {
	last := map[int]time.Duration{}
	var longest time.Duration
	hear := func(node int, at time.Duration) {
		if at < from || at >= to || len(nodes) > 0 && !slices.Contains(nodes, node) {
			return
		}
		if before, ok := last[node]; ok {
			longest = max(longest, at-before)
		}
		last[node] = at
	}
	all := slices.Clone(r.Heard)
	for _, a := range r.Adverts {
		all = append(all, Heard{a.At, a.Node})
	}
	slices.SortStableFunc(all, func(a, b Heard) int { return int(a.At - b.At) })
	for _, h := range all {
		hear(h.Node, h.At)
	}
	for _, before := range last {
		longest = max(longest, min(to, r.Ended)-before)
	}
	return longest
}

// BySilence is how often from the instant on a node began to advertise addresses when the one before it had not advertised for three of its
// intervals: it has to, and that is no more than a dead holder's due.
func (r *Report) BySilence(from time.Duration) int {
	type router struct {
		vrid int
		v6   bool
	}
	last, most := map[router]Advert{}, map[router]int{}
	n := 0
	for _, a := range r.Adverts {
		if a.Priority == 0 {
			continue
		}
		k := router{a.VRID, a.Source.Is6()}
		if before, ok := last[k]; ok && a.At >= from && before.Node != a.Node && a.At-before.At >= 3*before.Interval {
			most[k]++
			n = max(n, most[k])
		}
		last[k] = a
	}
	return n
}
