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
	Direct  DirectReport   `json:"direct"`
	// Apart is the same for each target by itself, where it was asked for.
	Apart         map[netip.Addr]DirectReport `json:"-"`
	Announcements []Announcement              `json:"announcements,omitempty"`
	Adverts       []Advert                    `json:"adverts,omitempty"`
	Binds         []Bind                      `json:"binds,omitempty"`
	Realtime      bool                        `json:"realtime"`         // the probers ran with SCHED_RR
	Stalls        []Stall                     `json:"stalls"`           // lateness of the probers above 5 ms
	OrdinaryStall time.Duration               `json:"ordinaryStall"`    // longest lateness of an ordinary process
	Starved       []Stall                     `json:"starved"`          // lateness of an ordinary process above 10 ms
	Stolen        []Stall                     `json:"stolen,omitempty"` // what a hypervisor took for others, above 20 ms of 100
	Waited        []Stall                     `json:"waited,omitempty"` // a thread under test waited for a processor, above 10 ms
	Locked        []Stall                     `json:"locked,omitempty"` // the kernel let nobody change an address, above 10 ms
	Load          float64                     `json:"load"`             // load average of the machine at the end

	nodes map[netip.Addr]int
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
	var longest time.Duration
	for _, s := range r.Streams {
		longest = max(longest, s.Longest)
	}
	return longest
}

// LongestAfter is the longest outage over all UDP streams from the instant on.
func (r *Report) LongestAfter(at time.Duration) time.Duration {
	var longest time.Duration
	for _, s := range r.Streams {
		longest = max(longest, s.LongestAfter(at))
	}
	return longest
}

// Lost is the number of lost UDP probes over all streams.
func (r *Report) Lost() int {
	lost := 0
	for _, s := range r.Streams {
		lost += s.Lost
	}
	return lost
}

// MaxStall is the longest lateness of the probers.
func (r *Report) MaxStall() time.Duration {
	var longest time.Duration
	for _, s := range r.Stalls {
		longest = max(longest, s.Length)
	}
	return longest
}

// StallIn is the longest stall that touches the span [from, to].
func (r *Report) StallIn(from, to time.Duration) time.Duration {
	var longest time.Duration
	for _, s := range r.Stalls {
		if s.At <= to && s.At+s.Length >= from {
			longest = max(longest, s.Length)
		}
	}
	return longest
}

// Starving reports whether an ordinary process, and so perhaps the program
// under test, stood still for longer than the limit in the span [from, to].
func (r *Report) Starving(from, to, limit time.Duration) bool {
	return slices.ContainsFunc(slices.Concat(r.Stalls, r.Starved), func(s Stall) bool {
		return s.Length > limit && s.At <= to && s.At+s.Length >= from
	})
}

// Standstill is how long the machine, or an ordinary process on it, stood still within any one second of the span [from, to]: at
// most. What a program under test does in several steps is late by the sum, not by the longest.
func (r *Report) Standstill(from, to time.Duration) time.Duration {
	spells := r.spells(from, to)
	var most time.Duration
	for i, first := range spells {
		var sum time.Duration
		for _, s := range spells[i:] {
			sum += max(min(s.At+s.Length, first.At+time.Second)-s.At, 0)
		}
		most = max(most, sum)
	}
	return most
}

// Stood is how long the machine, or an ordinary process on it, stood still in the span [from, to] in all, or a program under test waited
// for it: for a processor, or until addresses may be changed.
func (r *Report) Stood(from, to time.Duration) (sum time.Duration) {
	for _, s := range joined(from, to, r.Stalls, r.Starved, r.Stolen, r.Waited, r.Locked) {
		sum += s.Length
	}
	return sum
}

// Taken is the part of the span [from, to] for which a hypervisor took a processor away for others: from 0 to 1.
func (r *Report) Taken(from, to time.Duration) float64 {
	var sum time.Duration
	for _, s := range r.Stolen {
		sum += max(min(s.At+s.Length, to)-max(s.At, from), 0)
	}
	return sum.Seconds() / (to - from).Seconds()
}

// spells are the times in the span [from, to] in which something stood still, or was taken away.
func (r *Report) spells(from, to time.Duration) []Stall {
	return joined(from, to, r.Stalls, r.Starved, r.Stolen)
}

// joined are those of the span [from, to] in order; where two overlap they are one.
func joined(from, to time.Duration, lists ...[]Stall) []Stall {
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b Stall) int { return cmp.Compare(a.At, b.At) })
	var out []Stall
	for _, s := range all {
		at, end := max(s.At, from), min(s.At+s.Length, to)
		if at >= end {
			continue
		}
		if n := len(out); n > 0 && at <= out[n-1].At+out[n-1].Length {
			out[n-1].Length = max(out[n-1].Length, end-out[n-1].At)
			continue
		}
		out = append(out, Stall{At: at, Length: end - at, CPU: -1})
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
	var found []Bind
	for _, b := range r.Binds {
		if b.Added && b.Address == addr && b.At >= after {
			found = append(found, b)
		}
	}
	return found
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

// AdvertsOf returns the node's advertisements in [from, to).
func (r *Report) AdvertsOf(node int, from, to time.Duration) []Advert {
	var found []Advert
	for _, a := range r.Adverts {
		if a.Node == node && a.At >= from && a.At < to {
			found = append(found, a)
		}
	}
	return found
}

// AnnouncementsAfter counts announcements of the address from the instant on.
func (r *Report) AnnouncementsAfter(addr netip.Addr, at time.Duration) []Announcement {
	var found []Announcement
	for _, a := range r.Announcements {
		if a.Address == addr && a.At >= at {
			found = append(found, a)
		}
	}
	return found
}

// AnnouncementsOf returns the node's announcements of the address.
func (r *Report) AnnouncementsOf(node int, addr netip.Addr) []Announcement {
	var found []Announcement
	for _, a := range r.Announcements {
		if a.Node == node && a.Address == addr {
			found = append(found, a)
		}
	}
	return found
}

// BindsOn counts how often the node bound the address.
func (r *Report) BindsOn(node int, addr netip.Addr) int {
	n := 0
	for _, b := range r.Binds {
		if b.Added && b.Node == node && b.Address == addr {
			n++
		}
	}
	return n
}
