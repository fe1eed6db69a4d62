package agent

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/keepvip/keepvip/election"
)

const (
	// steerFor is how long packets are sent on if this process does not keep it up.
	steerFor = 3 * time.Second
	// steerEvery is how often it looks whether the other node still serves.
	steerEvery = 100 * time.Millisecond
	// steerTime is how long a takeover waits for it. The other node has the address meanwhile.
	steerTime = 100 * time.Millisecond
)

// steered is what a holder sends on to the node that was the holder before. It belongs to the loop's goroutine.
type steered struct {
	to    netip.Addr
	next  time.Time // when to look; zero: nothing is sent on
	stop  context.CancelFunc
	tasks sync.WaitGroup // of those that change the kernel, which may take long
	last  chan struct{}  // closed when the newest of them has ended; nil: there was none
}

// steer begins, if the former holder serves its connections, before the first packet comes here that is the other's.
func (l *loop) steer() {
	l.unsteer()
	to, ok := l.server()
	if !ok {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	before, begun, ended := l.steered.last, make(chan struct{}), make(chan struct{})
	l.steered.to, l.steered.next, l.steered.stop, l.steered.last = to, time.Now().Add(steerEvery), stop, ended
	place, addresses := l.place, l.in.hosts()
	l.steered.tasks.Go(func() {
		defer close(ended)
		if before != nil {
			<-before
		}
		l.sendOn(ctx, place, addresses, to, begun)
	})
	await(begun, steerTime)
}

// sendOn sends on until ctx ends.
func (l *loop) sendOn(ctx context.Context, place Place, addresses []netip.Addr, to netip.Addr, begun chan<- struct{}) {
	s, err := l.host.Steer(place, addresses, to, steerFor)
	close(begun)
	if err != nil {
		l.log.Warn("older connections are not sent on", "to", to.String(), "error", err)
		return
	}
	l.log.Info("older connections are sent on", "to", to.String())
	keep := time.NewTicker(steerFor / 3)
	defer keep.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-keep.C:
			if err := s.Keep(steerFor); err != nil {
				l.log.Warn("older connections may not be sent on any more", "to", to.String(), "error", err)
			}
		}
	}
	if err := s.Close(); err != nil {
		l.log.Debug("sending on did not end at once", "error", err)
	}
	l.log.Info("older connections are not sent on any more", "to", to.String())
}

// server is the member that serves its connections.
func (l *loop) server() (netip.Addr, bool) {
	for _, m := range l.elector.Status().Members {
		if m.Serves && !m.Self && m.State != election.Active {
			return m.Address, true
		}
	}
	return netip.Addr{}, false
}

// steerDue goes on as long as the other node serves.
func (l *loop) steerDue(now time.Time) {
	if l.steered.next.IsZero() || now.Before(l.steered.next) {
		return
	}
	l.steered.next = now.Add(steerEvery)
	if to, ok := l.server(); !ok || to != l.steered.to {
		l.unsteer()
	}
}

// unsteer does not wait: the node that has the address next is not to wait either.
func (l *loop) unsteer() {
	if !l.steered.next.IsZero() {
		l.steered.next = time.Time{}
		l.steered.stop()
	}
}

// steerNoMore waits for the end.
func (l *loop) steerNoMore() {
	l.unsteer()
	l.steered.tasks.Wait()
}
