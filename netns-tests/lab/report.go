package lab

import (
	"cmp"
	"net/netip"
	"slices"
	"time"
)

// Report is everything a measurement saw. Instants count from [Host.Open];
// durations are nanoseconds in JSON.
type Report struct {
	Name    string         `json:"name,omitempty"`
	Began   time.Duration  `json:"began"`
	Ended   time.Duration  `json:"ended"`
	Marks   []Mark         `json:"marks,omitempty"`
	Streams []StreamReport `json:"streams"`
	HTTPS   []StreamReport `json:"https,omitempty"`
	// Answers are what nodes answered for any address, in the order in which the kernel of the switch received them.
	Answers []Answer `json:"-"`
	// Blind says what the switch did not capture, nil if nothing is missing. Whoever is blind takes two nodes to have answered all the time.
	Blind         error          `json:"-"`
	Announcements []Announcement `json:"announcements,omitempty"`
	Adverts       []Advert       `json:"adverts,omitempty"`
	Binds         []Bind         `json:"binds,omitempty"`
	Stalls        []Stall        `json:"stalls"`  // lateness of a real-time thread above 5 ms, of any processor
	Starved       []Stall        `json:"starved"` // lateness of an ordinary process above 10 ms
	Load          float64        `json:"load"`    // load average of the machine at the end

	targets []netip.Addr
}

// Stream returns what a client saw of an address, nil if it did not probe it.
func (r *Report) Stream(client string, target netip.Addr) *StreamReport {
	for i, s := range r.Streams {
		if s.Client == client && s.Target == target {
			return &r.Streams[i]
		}
	}
	return nil
}

// Longest is the longest outage over all UDP streams.
func (r *Report) Longest() time.Duration {
	return longest(r.Streams, func(s StreamReport) time.Duration { return s.Longest })
}

// LongestAfter is the longest outage over all UDP streams from the instant on.
func (r *Report) LongestAfter(at time.Duration) time.Duration {
	return longest(r.Streams, func(s StreamReport) time.Duration { return s.LongestAfter(at) })
}

// longest is the longest time of a list.
func longest[T any](list []T, of func(T) time.Duration) (most time.Duration) {
	for _, x := range list {
		most = max(most, of(x))
	}
	return most
}

// where are those of a list that are so.
func where[T any](list []T, so func(T) bool) (found []T) {
	for _, x := range list {
		if so(x) {
			found = append(found, x)
		}
	}
	return found
}

// Lost is the number of lost UDP probes over all streams.
func (r *Report) Lost() (lost int) {
	for _, s := range r.Streams {
		lost += s.Lost
	}
	return lost
}

// StallIn is the longest stall that touches the span [from, to].
func (r *Report) StallIn(from, to time.Duration) time.Duration {
	touch := where(r.Stalls, func(s Stall) bool { return s.At <= to && s.At+s.Length >= from })
	return longest(touch, func(s Stall) time.Duration { return s.Length })
}

// StoodStill is for how long the machine, or an ordinary process on it, stood still within any one second of the measurement, at
// most: what a program under test does in several steps is late by the sum, not by the longest.
func (r *Report) StoodStill() time.Duration { return standstill(joined(r.Stalls, r.Starved)) }

func standstill(spells []Stall) (most time.Duration) {
	for i, first := range spells {
		var sum time.Duration
		for _, s := range spells[i:] {
			sum += max(min(s.At+s.Length, first.At+time.Second)-s.At, 0)
		}
		most = max(most, sum)
	}
	return most
}

// joined are the spells of several lists in order; where two overlap they are one.
func joined(lists ...[]Stall) []Stall {
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b Stall) int { return cmp.Compare(a.At, b.At) })
	var out []Stall
	for _, s := range all {
		if n := len(out); n > 0 && s.At <= out[n-1].At+out[n-1].Length {
			out[n-1].Length = max(out[n-1].Length, s.At+s.Length-out[n-1].At)
			continue
		}
		out = append(out, s)
	}
	return out
}

// Takeovers counts how often a node bound the address after the instant.
func (r *Report) Takeovers(addr netip.Addr, after time.Duration) int {
	return len(r.bindsOf(addr, after))
}

// Taker is the node that bound the address after the instant and has it at the end, of several the one that bound it last; where none has, the one
// that bound it last, 0 if none did. Two may bind it at one moment, and the one that was first keep it.
func (r *Report) Taker(addr netip.Addr, after time.Duration) int {
	binds := r.bindsOf(addr, after)
	for _, b := range slices.Backward(binds) {
		if _, lost := r.Unbound(b.Node, addr, b.At); !lost {
			return b.Node
		}
	}
	if len(binds) == 0 {
		return 0
	}
	return binds[len(binds)-1].Node
}

func (r *Report) bindsOf(addr netip.Addr, after time.Duration) []Bind {
	return where(r.Binds, func(b Bind) bool { return b.Added && b.Address == addr && b.At >= after })
}

// Unbound is when the node lost the address, at or after the instant.
func (r *Report) Unbound(node int, addr netip.Addr, after time.Duration) (time.Duration, bool) {
	for _, b := range r.Binds {
		if !b.Added && b.Node == node && b.Address == addr && b.At >= after {
			return b.At, true
		}
	}
	return 0, false
}

// AnnouncementDelays is, for every bind of the address after the instant, the
// time to that node's first announcement of it. A bind without one is left out.
func (r *Report) AnnouncementDelays(addr netip.Addr, after time.Duration) []time.Duration {
	// The watcher learns of the bind some time after the kernel did it: of an
	// IPv4 address it was once 1.1 ms, and IPv6 addresses are reported by a
	// work queue of the kernel.
	const late = 20 * time.Millisecond
	var delays []time.Duration
	for _, b := range r.bindsOf(addr, after) {
		for _, a := range r.Announcements {
			if a.Node == b.Node && a.Address == addr && a.At >= max(after, b.At-late) {
				delays = append(delays, max(a.At-b.At, 0))
				break
			}
		}
	}
	return delays
}

// LastAdvert is the node's last advertisement before the instant.
func (r *Report) LastAdvert(node int, before time.Duration) (Advert, bool) {
	for _, a := range slices.Backward(r.Adverts) {
		if a.Node == node && a.At <= before {
			return a, true
		}
	}
	return Advert{}, false
}

// Leads tells whether a node had a lease at the instant: it had advertised last of all, less than three of its intervals before. Where nobody advertises
// nothing says that it had none.
func (r *Report) Leads(node int, at time.Duration) bool {
	for _, a := range slices.Backward(r.Adverts) {
		if a.At <= at {
			return a.Node == node && at-a.At < 3*a.Interval
		}
	}
	return len(r.Adverts) == 0
}

// AdvertsOf returns the node's advertisements in [from, to).
func (r *Report) AdvertsOf(node int, from, to time.Duration) []Advert {
	return where(r.Adverts, func(a Advert) bool { return a.Node == node && a.At >= from && a.At < to })
}

// AnnouncementsAfter are the announcements of the address from the instant on.
func (r *Report) AnnouncementsAfter(addr netip.Addr, at time.Duration) []Announcement {
	return where(r.Announcements, func(a Announcement) bool { return a.Address == addr && a.At >= at })
}

// AnnouncementsOf returns the node's announcements of the address.
func (r *Report) AnnouncementsOf(node int, addr netip.Addr) []Announcement {
	return where(r.AnnouncementsAfter(addr, 0), func(a Announcement) bool { return a.Node == node })
}

// BindsOn counts how often the node bound the address.
func (r *Report) BindsOn(node int, addr netip.Addr) int {
	return len(where(r.bindsOf(addr, 0), func(b Bind) bool { return b.Node == node }))
}
