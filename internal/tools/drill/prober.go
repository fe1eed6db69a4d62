package drill

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/reset"
)

const (
	// Interval is between two probes.
	Interval = 3 * time.Millisecond
	// deadline is after how long a probe counts as lost; a connection is asked for again by the kernel only after a second.
	deadline = 200 * time.Millisecond
	// mostOpen bounds the connections that are being made: as many as an interval and the deadline make, and some that are late.
	mostOpen = int(deadline/Interval) + 20
)

// Prober makes a TCP connection to an address each Interval, and closes it at once: what is answered is a SYN, by the kernel of whoever
// holds the address. A refusal is an answer where no connection is taken at all: then the figure is about the address alone.
type Prober struct {
	to      string
	connect func(ctx context.Context, to string) error

	mu      sync.Mutex // guards what follows
	samples []sample
	taken   bool // a connection was
	refused bool // a connection was
}

// NewProber makes one that has not begun.
func NewProber(to netip.AddrPort) *Prober { return &Prober{to: to.String(), connect: reset.Dial} }

// Run probes until ctx ends, and then waits for the last answers, for a Deadline at most.
func (p *Prober) Run(ctx context.Context) {
	began := time.Now()
	tick := time.NewTicker(Interval)
	defer tick.Stop()
	var open sync.WaitGroup
	defer open.Wait()
	places := make(chan struct{}, mostOpen)
	for {
		select {
		case places <- struct{}{}:
			n := p.sent(time.Since(began))
			open.Go(func() {
				defer func() { <-places }()
				p.probe(n)
			})
		default: // the prober is late: what it does not send is not counted
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (p *Prober) probe(n int) {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	err := p.connect(ctx, p.to)
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &p.samples[n]
	s.Answered, s.Refused = err == nil, errors.Is(err, unix.ECONNREFUSED)
	p.taken, p.refused = p.taken || s.Answered, p.refused || s.Refused
}

// sent adds a probe, and returns its number.
func (p *Prober) sent(at time.Duration) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.samples = append(p.samples, sample{Sent: at})
	return len(p.samples) - 1
}

// Answers tells whether the address has answered, if only by a refusal, and whether it has taken a connection.
func (p *Prober) Answers() (answered, taken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken || p.refused, p.taken
}

// Seen is what has been seen, after Run has returned.
func (p *Prober) Seen() Seen {
	p.mu.Lock()
	defer p.mu.Unlock()
	samples := slices.Clone(p.samples)
	for i := range samples {
		samples[i].Answered = samples[i].Answered || samples[i].Refused && !p.taken
	}
	return outages(samples, Interval)
}
