package address

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/kernel/fence"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

const (
	// forwardFor is how long packets are forwarded if this process does not keep it up.
	forwardFor = 3 * time.Second
	// forwardEvery is how often it looks whether the other node still drains.
	forwardEvery = 100 * time.Millisecond
	// forwardTime is how long a takeover waits until all packets are forwarded. The other node has the address meanwhile.
	forwardTime = 100 * time.Millisecond
)

// forwarding is what a holder sends on to the node that was the holder before. It belongs to the service's goroutine.
type forwarding struct {
	*core
	to     netip.Addr
	former netip.Addr // who was the holder before; the zero Addr: it is not known
	next   time.Time  // when to look; zero: nothing is forwarded
	stop   context.CancelFunc
	tasks  sync.WaitGroup // of those that change the kernel, which may take long
	last   chan struct{}  // closed when the newest of them has ended; nil: there was none
}

// start begins, if the former holder drains its connections, before the first packet comes here that is the other's. former is its own
// address, as far as known.
func (f *forwarding) start(former netip.Addr) {
	f.end()
	f.former = former
	to, ok := f.drainingMember()
	if !ok {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	before, begun, ended := f.last, make(chan struct{}), make(chan struct{})
	f.to, f.next, f.stop, f.last = to, time.Now().Add(forwardEvery), stop, ended
	what := forwarded{f.place, f.cfg.hosts(), f.cfg.lastingPorts()}
	f.tasks.Go(func() {
		defer close(ended)
		if before != nil {
			<-before
		}
		f.forward(ctx, what, to, begun)
	})
	await(begun, forwardTime)
}

// forwarded is what goes to another node.
type forwarded struct {
	place     instance.Place
	addresses []netip.Addr
	spread    []fence.Port // but for these
}

// forward forwards until ctx ends.
func (f *forwarding) forward(ctx context.Context, what forwarded, to netip.Addr, begun chan<- struct{}) {
	s, err := f.host.Forward(what.place, what.addresses, what.spread, to, forwardFor)
	if err != nil {
		close(begun)
		f.log.Warn("older connections are not forwarded", "to", to.String(), "error", err)
		return
	}
	f.log.Info("older connections are forwarded", "to", to.String())
	f.tasks.Go(func() {
		defer close(begun)
		if err := f.host.ForgetEnded(what.addresses); err != nil {
			f.log.Debug("the kernel still remembers ended connections; a client that uses the port of one again may lose its drained connection", "error", err)
		}
	})
	keep := time.NewTicker(forwardFor / 3)
	defer keep.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-keep.C:
			if err := s.Keep(forwardFor); err != nil {
				f.log.Warn("older connections may not be forwarded any more", "to", to.String(), "error", err)
			}
		}
	}
	if err := s.Close(); err != nil {
		f.log.Debug("forwarding did not end at once", "error", err)
	}
	f.log.Info("older connections are not forwarded any more", "to", to.String())
}

// drainingMember is the member that drains its connections: of several the former holder, as the others drain what is spread.
func (f *forwarding) drainingMember() (to netip.Addr, found bool) {
	for _, m := range f.elector.Status().Members {
		if m.Draining && !m.Self && m.State != election.Active && (!found || m.Address == f.former) {
			to, found = m.Address, true
		}
	}
	return to, found
}

// due goes on as long as the other node drains.
func (f *forwarding) due(now time.Time) {
	if f.next.IsZero() || now.Before(f.next) {
		return
	}
	f.next = now.Add(forwardEvery)
	if to, ok := f.drainingMember(); !ok || to != f.to {
		f.end()
	}
}

// end does not wait: the node that has the address next is not to wait either.
func (f *forwarding) end() {
	if !f.next.IsZero() {
		f.next = time.Time{}
		f.stop()
	}
}

// wait waits for the end.
func (f *forwarding) wait() {
	f.end()
	f.tasks.Wait()
}
