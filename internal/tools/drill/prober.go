package drill

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// Interval is between two probes.
	Interval = 3 * time.Millisecond
	// Deadline is after how long a probe counts as lost; a connection is asked for again by the kernel only after a second.
	Deadline = 200 * time.Millisecond
	// mostOpen bounds the connections that are being made: as many as an interval and the deadline make, and some that are late.
	mostOpen = int(Deadline/Interval) + 20
)

// Prober makes a TCP connection to an address each Interval, and closes it at once: what is answered is a SYN, by the kernel of whoever
// holds the address. Where nothing listens on the port, which the first answer shows, a refusal is an answer.
type Prober struct {
	to      netip.AddrPort
	connect func(ctx context.Context, to netip.AddrPort) error

	mu      sync.Mutex // guards what follows
	samples []Sample
	judged  bool // the first answer has come
	refuses bool // and it was a refusal
}

// NewProber makes one that has not begun.
func NewProber(to netip.AddrPort) *Prober { return &Prober{to: to, connect: connect} }

// connect makes a connection and ends it, without a trace: no socket waits afterwards.
func connect(ctx context.Context, to netip.AddrPort) error {
	d := net.Dialer{KeepAlive: -1}
	c, err := d.DialContext(ctx, "tcp", to.String())
	if err != nil {
		return err
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	return c.Close()
}

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
	ctx, cancel := context.WithTimeout(context.Background(), Deadline)
	defer cancel()
	err := p.connect(ctx, p.to)
	p.mu.Lock()
	defer p.mu.Unlock()
	refused := errors.Is(err, unix.ECONNREFUSED)
	if !p.judged && (err == nil || refused) {
		p.judged, p.refuses = true, refused
	}
	p.samples[n].Answered = err == nil || refused && p.refuses
}

// sent adds a probe, and returns its number.
func (p *Prober) sent(at time.Duration) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.samples = append(p.samples, Sample{Sent: at})
	return len(p.samples) - 1
}

// Answers tells whether the address has answered, and whether nothing listens on the port.
func (p *Prober) Answers() (answered, refused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.judged, p.refuses
}

// Seen is what has been seen, after Run has returned.
func (p *Prober) Seen() Seen {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Outages(p.samples, Interval)
}
