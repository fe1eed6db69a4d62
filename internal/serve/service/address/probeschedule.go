package address

import (
	"net/netip"
	"time"
)

const (
	// probeEvery is the mean time between two probes of an address: a silent foreign host is known within twice
	// as long even if one probe is lost.
	probeEvery = 12 * time.Second
	// probeInConflict is the time between two while somebody claims an address.
	probeInConflict = 5 * time.Second
	// probeToBind is the time between two while a claim forbids the first bind.
	probeToBind = 200 * time.Millisecond
	// probeWindow is how long the probes before the first bind may take in all.
	probeWindow = 250 * time.Millisecond
	// perProbe is how many addresses are probed together; more are spread over the time.
	perProbe = 16
	// probeTick is when the probes of many instances leave, so that a node wakes up once for them; from probeCrowd addresses on.
	probeTick  = time.Second
	probeCrowd = 16
)

// firstProbes are the probes of a term, counted from its begin: as many as RFC 5227 section 2.1.1 has, but
// within the time that an election takes.
var firstProbes = []time.Duration{0, 80 * time.Millisecond, 160 * time.Millisecond}

// probeSchedule says when which addresses are probed. It is pure.
type probeSchedule struct {
	addresses []netip.Addr
	crowd     bool // many instances probe
	started   time.Time
	first     int // of firstProbes, done
	at        int // index of the next address
	next      time.Time
}

// newProbeSchedule begins now; crowd is how many addresses all instances of this process have.
func newProbeSchedule(now time.Time, addresses []netip.Addr, crowd int) probeSchedule {
	return probeSchedule{addresses: addresses, crowd: crowd >= probeCrowd, started: now, next: now}
}

// due returns what to probe at now, or nothing. Jitter is between 0 and 1; conflict is while somebody claims
// an address.
func (p *probeSchedule) due(now time.Time, jitter float64, conflict bool) []netip.Addr {
	if now.Before(p.next) || len(p.addresses) == 0 {
		return nil
	}
	if p.first < len(firstProbes) {
		p.first++
		if p.first < len(firstProbes) {
			p.next = p.started.Add(firstProbes[p.first])
		} else {
			p.next = p.after(now, jitter, conflict)
		}
		return p.addresses
	}
	end := min(p.at+perProbe, len(p.addresses))
	part := p.addresses[p.at:end]
	p.at = end % len(p.addresses)
	p.next = p.after(now, jitter, conflict)
	return part
}

// after is when the next step of a round begins.
func (p *probeSchedule) after(now time.Time, jitter float64, conflict bool) time.Time {
	pause := p.pause(jitter, conflict)
	at := now.Add(pause)
	if p.crowd && pause >= 2*probeTick {
		at = at.Add(-time.Duration(at.UnixNano() % int64(probeTick)))
	}
	return at
}

// pause is the time to the next step of a round.
func (p *probeSchedule) pause(jitter float64, conflict bool) time.Duration {
	round := probeEvery
	if conflict {
		round = probeInConflict
	}
	steps := (len(p.addresses) + perProbe - 1) / perProbe
	return time.Duration(float64(round) * (0.8 + 0.4*jitter) / float64(steps))
}

// bringForward brings the next probe forward, as soon as there is a conflict.
func (p *probeSchedule) bringForward(now time.Time) {
	if at := now.Add(probeInConflict); at.Before(p.next) {
		p.next = at
	}
}
