package follower

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/lack"
)

const (
	// probeEvery is the time between two looks at a service that answers, and probeFailed at one that does not.
	probeEvery, probeFailed = 5 * time.Second, time.Second
	// probeTime bounds one.
	probeTime = time.Second
	// lostProbes is how many without an answer make a failure: the first SYN may be lost. A refusal makes one at once.
	lostProbes = 2
)

// probes are looks at the services of members from here. They are of one goroutine.
type probes struct {
	all     map[netip.AddrPort]*probed
	results chan result
	dial    func(ctx context.Context, to netip.AddrPort) error
	unasked uint64    // looks that this host lacked something for
	lacks   code.Code // that for the newest look; "": nothing
}

type probed struct {
	wanted  bool
	busy    bool
	next    time.Time
	lost    int
	verdict verdict
}

type result struct {
	to    netip.AddrPort
	err   error
	lacks code.Code // what this host had too little of; "": nothing
}

func newProbes() *probes {
	return &probes{all: map[netip.AddrPort]*probed{}, results: make(chan result), dial: connect}
}

// connect has the service's host take a connection, and says nothing on it.
func connect(ctx context.Context, to netip.AddrPort) error {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", to.String())
	if err != nil {
		return err
	}
	return c.Close()
}

// verdict is what is known of a service.
func (p *probes) verdict(to netip.AddrPort) verdict {
	if o := p.all[to]; o != nil {
		return o.verdict
	}
	return unknown
}

// want says which services are looked at from now on.
func (p *probes) want(list []netip.AddrPort) {
	for _, o := range p.all {
		o.wanted = false
	}
	for _, to := range list {
		if p.all[to] == nil {
			p.all[to] = &probed{}
		}
		p.all[to].wanted = true
	}
	for to, o := range p.all {
		if !o.wanted && !o.busy {
			delete(p.all, to)
		}
	}
}

// start begins what is due.
func (p *probes) start(ctx context.Context, now time.Time) {
	for to, o := range p.all {
		if o.busy || !o.wanted || now.Before(o.next) {
			continue
		}
		o.busy = true
		go func() {
			limit, cancel := context.WithTimeout(ctx, probeTime)
			defer cancel()
			err := p.dial(limit, to)
			select {
			case p.results <- result{to, err, lack.OfDial(limit, err, to.String())}:
			case <-ctx.Done():
			}
		}()
	}
}

// note takes a result in, and tells whether it changes the verdict.
func (p *probes) note(now time.Time, r result) bool {
	o := p.all[r.to]
	if o == nil {
		return false
	}
	before := o.verdict
	p.lacks = r.lacks
	o.busy, o.next = false, now.Add(probeFailed)
	switch {
	case r.err == nil:
		o.verdict, o.lost, o.next = reached, 0, now.Add(probeEvery)
	case r.lacks != "": // the verdict is what it was
		p.unasked++
	case errors.Is(r.err, syscall.ECONNREFUSED):
		o.verdict, o.lost = failed, lostProbes
	default:
		if o.lost++; o.lost >= lostProbes {
			o.verdict = failed
		}
	}
	return o.verdict != before
}

// deadline is when start has something to do; zero: never.
func (p *probes) deadline() (next time.Time) {
	for _, o := range p.all {
		if o.wanted && !o.busy && (next.IsZero() || o.next.Before(next)) {
			next = o.next
		}
	}
	return next
}
