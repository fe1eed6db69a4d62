package lab

import (
	"net/netip"
	"slices"
	"time"
)

// Outage is an unbroken run of probes without an answer.
type Outage struct {
	At   time.Duration `json:"at"`   // when the first lost probe was sent
	End  time.Duration `json:"end"`  // when the next answered probe was sent
	Lost int           `json:"lost"` // probes in between
	// Length is from the first to the last lost probe plus one interval. A
	// stall of the prober at either end is not counted; one in the middle is,
	// because the address was dead on both sides of it.
	Length time.Duration `json:"length"`
}

// Change is a moment when another node began to answer the client.
type Change struct {
	At   time.Duration `json:"at"` // when the answered probe was sent
	From int           `json:"from"`
	To   int           `json:"to"`
}

// StreamReport is what one client saw of one address.
type StreamReport struct {
	Client   string         `json:"client"`
	Target   netip.Addr     `json:"target"`
	Interval time.Duration  `json:"interval"`
	Sent     int            `json:"sent"`
	Lost     int            `json:"lost"`
	Resets   int            `json:"resets,omitempty"`   // of the lost ones, requests whose connection was reset
	Twice    int            `json:"twice,omitempty"`    // of the lost ones, requests that failed once more when they were made again
	Failures map[string]int `json:"failures,omitempty"` // how requests failed
	Longest  time.Duration  `json:"longest"`
	Total    time.Duration  `json:"total"` // sum of all outages
	Outages  []Outage       `json:"outages,omitempty"`
	ByNode   map[int]int    `json:"byNode"` // answers by node
	Changes  []Change       `json:"changes,omitempty"`
	Last     int            `json:"last"` // node of the last answer, 0 if none

	samples []sample
}

// summarize computes a report from the probes, which are in order of sending.
func summarize(client string, target netip.Addr, interval time.Duration, samples []sample) StreamReport {
	r := StreamReport{Client: client, Target: target, Interval: interval, Sent: len(samples), ByNode: map[int]int{}, Failures: map[string]int{}, samples: samples}
	var open *Outage
	var lastLost time.Duration
	for _, s := range samples {
		if s.reset {
			r.Resets++
		}
		if s.twice {
			r.Twice++
		}
		if s.failure != "" {
			r.Failures[s.failure]++
		}
		if s.node == 0 {
			r.Lost++
			if open == nil {
				open = &Outage{At: s.sent}
			}
			open.Lost++
			lastLost = s.sent
			continue
		}
		if open != nil {
			r.addOutage(*open, lastLost, s.sent)
			open = nil
		}
		node := int(s.node)
		if r.ByNode[node]++; r.Last != node {
			if r.Last != 0 {
				r.Changes = append(r.Changes, Change{At: s.sent, From: r.Last, To: node})
			}
			r.Last = node
		}
	}
	if open != nil {
		r.addOutage(*open, lastLost, lastLost+interval)
	}
	return r
}

func (r *StreamReport) addOutage(o Outage, lastLost, end time.Duration) {
	o.End, o.Length = end, lastLost-o.At+r.Interval
	r.Longest = max(r.Longest, o.Length)
	r.Total += o.Length
	r.Outages = append(r.Outages, o)
}

// FirstAnswer is when the client's first probe that another node than except
// answered was sent, at or after the instant; ok is false if none was.
func (r *StreamReport) FirstAnswer(after time.Duration, except int) (at time.Duration, node int, ok bool) {
	for _, s := range r.samples {
		if s.sent >= after && s.node != 0 && int(s.node) != except {
			return s.sent + s.latency, int(s.node), true
		}
	}
	return 0, 0, false
}

// LongestAfter is the longest outage that began at or after the instant.
func (r *StreamReport) LongestAfter(after time.Duration) time.Duration {
	var longest time.Duration
	for _, o := range r.Outages {
		if o.End > after {
			longest = max(longest, o.Length-max(after-o.At, 0))
		}
	}
	return longest
}

// Latency is what so many per cent of the answered probes took at most, 0 without any.
func (r *StreamReport) Latency(percent int) time.Duration {
	var all []time.Duration
	for _, s := range r.samples {
		if s.node != 0 {
			all = append(all, s.latency)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[(len(all)-1)*percent/100]
}
