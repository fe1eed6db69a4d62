package drill

import "time"

// sample is one probe.
type sample struct {
	Sent     time.Duration // since the measurement began
	Answered bool          // before its deadline
	Refused  bool          // the answer was a refusal
}

// Outage is an unbroken run of probes without an answer.
type Outage struct {
	At     time.Duration // when the first of them was sent
	Lost   int
	Length time.Duration // from the first to the last of them, and one interval
}

// Seen is what a series of probes has seen.
type Seen struct {
	Sent, Lost int
	Refused    int           // of those answered
	Longest    Outage        // the zero Outage: every probe was answered
	Total      time.Duration // the sum of all outages
	Coarsest   time.Duration // the longest time between two probes: no figure is more exact
}

// AllRefused tells that there were answers, and that each of them was a refusal: nothing listens at the address.
func (s Seen) AllRefused() bool { return s.Refused > 0 && s.Refused+s.Lost == s.Sent }

// outages are found in samples, which are in the order of sending, one each interval. A probe is lost as a whole: an outage that begins and
// ends between two probes is not seen. A prober that stalls before or after an outage adds nothing to it; one that stalls in the middle
// does, because the address was silent before and after.
func outages(samples []sample, interval time.Duration) Seen {
	s := Seen{Sent: len(samples)}
	var open Outage
	end := func() {
		if open.Length > s.Longest.Length {
			s.Longest = open
		}
		s.Total += open.Length
		open = Outage{}
	}
	for i, p := range samples {
		if i > 0 {
			s.Coarsest = max(s.Coarsest, p.Sent-samples[i-1].Sent)
		}
		if p.Answered && p.Refused {
			s.Refused++
		}
		if p.Answered {
			end()
			continue
		}
		if open.Lost == 0 {
			open.At = p.Sent
		}
		open.Lost++
		open.Length = p.Sent - open.At + interval
		s.Lost++
	}
	end()
	return s
}
