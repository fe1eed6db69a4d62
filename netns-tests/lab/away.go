package lab

import "time"

// AwayBeyond is the longest time without an answer to the client, from the instant on, less what the machine stood still around each:
// from so long before an address was away until it was back. A standstill at any other time explains nothing.
func (r *Report) AwayBeyond(streams []StreamReport, before, after time.Duration) time.Duration {
	var longest time.Duration
	for _, s := range streams {
		for _, o := range s.Outages {
			if o.End <= after {
				continue
			}
			at := max(o.At, after)
			longest = max(longest, o.Length-(at-o.At)-r.Stood(at-before, o.End))
		}
	}
	return longest
}

// LostBeyond is how many probes of a stream were lost, less those that were due while the machine stood still around each outage, likewise.
func (r *Report) LostBeyond(s StreamReport, before time.Duration) int {
	lost := 0
	for _, o := range s.Outages {
		lost += max(o.Lost-int(r.Stood(o.At-before, o.End)/s.Interval), 0)
	}
	return lost
}
