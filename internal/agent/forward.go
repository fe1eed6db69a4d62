package agent

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/keepvip/keepvip/election"
)

const (
	// forwardFor is how long packets are forwarded if this process does not keep it up.
	forwardFor = 3 * time.Second
	// forwardEvery is how often it looks whether the other node still drains.
	forwardEvery = 100 * time.Millisecond
	// forwardTime is how long a takeover waits until packets are forwarded. The other node has the address meanwhile.
	forwardTime = 100 * time.Millisecond
)

// forwarding is what a holder sends on to the node that was the holder before. It belongs to the loop's goroutine.
type forwarding struct {
	to    netip.Addr
	next  time.Time // when to look; zero: nothing is forwarded
	stop  context.CancelFunc
	tasks sync.WaitGroup // of those that change the kernel, which may take long
	last  chan struct{}  // closed when the newest of them has ended; nil: there was none
}

// startForwarding begins, if the former holder drains its connections, before the first packet comes here that is the other's.
func (l *loop) startForwarding() {
	l.stopForwarding()
	to, ok := l.drainingMember()
	if !ok {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	before, begun, ended := l.forwarding.last, make(chan struct{}), make(chan struct{})
	l.forwarding.to, l.forwarding.next, l.forwarding.stop, l.forwarding.last = to, time.Now().Add(forwardEvery), stop, ended
	place, addresses := l.place, l.in.hosts()
	l.forwarding.tasks.Go(func() {
		defer close(ended)
		if before != nil {
			<-before
		}
		l.forward(ctx, place, addresses, to, begun)
	})
	await(begun, forwardTime)
}

// forward forwards until ctx ends.
func (l *loop) forward(ctx context.Context, place Place, addresses []netip.Addr, to netip.Addr, begun chan<- struct{}) {
	s, err := l.host.Forward(place, addresses, to, forwardFor)
	close(begun)
	if err != nil {
		l.log.Warn("older connections are not forwarded", "to", to.String(), "error", err)
		return
	}
	l.log.Info("older connections are forwarded", "to", to.String())
	keep := time.NewTicker(forwardFor / 3)
	defer keep.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-keep.C:
			if err := s.Keep(forwardFor); err != nil {
				l.log.Warn("older connections may not be forwarded any more", "to", to.String(), "error", err)
			}
		}
	}
	if err := s.Close(); err != nil {
		l.log.Debug("forwarding did not end at once", "error", err)
	}
	l.log.Info("older connections are not forwarded any more", "to", to.String())
}

// drainingMember is the member that drains its connections.
func (l *loop) drainingMember() (netip.Addr, bool) {
	for _, m := range l.elector.Status().Members {
		if m.Draining && !m.Self && m.State != election.Active {
			return m.Address, true
		}
	}
	return netip.Addr{}, false
}

// forwardDue goes on as long as the other node drains.
func (l *loop) forwardDue(now time.Time) {
	if l.forwarding.next.IsZero() || now.Before(l.forwarding.next) {
		return
	}
	l.forwarding.next = now.Add(forwardEvery)
	if to, ok := l.drainingMember(); !ok || to != l.forwarding.to {
		l.stopForwarding()
	}
}

// stopForwarding does not wait: the node that has the address next is not to wait either.
func (l *loop) stopForwarding() {
	if !l.forwarding.next.IsZero() {
		l.forwarding.next = time.Time{}
		l.forwarding.stop()
	}
}

// awaitForwarding waits for the end.
func (l *loop) awaitForwarding() {
	l.stopForwarding()
	l.forwarding.tasks.Wait()
}
