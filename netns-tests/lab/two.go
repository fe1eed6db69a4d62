package lab

import "time"

// Round is a round of questions, and the nodes that answered.
type Round struct {
	At    time.Duration
	Nodes []int
}

// Asked is a report of rounds so far apart in which the nodes answered every way of asking.
func Asked(every time.Duration, rounds ...Round) DirectReport {
	var r DirectReport
	for kind := range r.ticks {
		r.every[kind] = every
		for _, round := range rounds {
			t := tick{at: round.At}
			for _, n := range round.Nodes {
				t.answered |= 1 << n
			}
			r.ticks[kind] = append(r.ticks[kind], t)
		}
	}
	r.UDP, r.ARP, r.NS = doubles(r.ticks[byUDP], every), doubles(r.ticks[byARP], every), doubles(r.ticks[byNS], every)
	return r
}

// TwoBeyond is [DirectReport.TwoIn], less what the machine stood still meanwhile: from so long before two began to answer until they
// ceased. A standstill at any other time explains nothing.
func (r *Report) TwoBeyond(asked DirectReport, before, from, to time.Duration) time.Duration {
	return r.twoBeyond(asked, before, from, to, byUDP, byARP, byNS)
}

// DiscoveryTwoBeyond is the same for ARP and neighbour discovery alone.
func (r *Report) DiscoveryTwoBeyond(asked DirectReport, before, from, to time.Duration) time.Duration {
	return r.twoBeyond(asked, before, from, to, byARP, byNS)
}

func (r *Report) twoBeyond(asked DirectReport, before, from, to time.Duration, kinds ...int) time.Duration {
	var longest time.Duration
	for _, kind := range kinds {
		var sum time.Duration
		for _, s := range asked.doubleSpells(kind, before, from, to) {
			sum += max(s.two-r.Stood(s.from-before, s.last+asked.every[kind]), 0)
		}
		longest = max(longest, sum)
	}
	return longest
}

// doubleSpell is a time in which two answered, in rounds of which none is further from the next than that.
type doubleSpell struct{ from, last, two time.Duration }

func (r DirectReport) doubleSpells(kind int, apart, from, to time.Duration) []doubleSpell {
	var all []doubleSpell
	for _, t := range r.ticks[kind] {
		if t.at < from || t.at >= to || t.answered&(t.answered-1) == 0 {
			continue
		}
		if n := len(all); n == 0 || t.at-all[n-1].last > apart+r.every[kind] {
			all = append(all, doubleSpell{from: t.at})
		}
		s := &all[len(all)-1]
		s.last, s.two = t.at, s.two+r.every[kind]
	}
	return all
}
