package lab

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Followed are requests over HTTPS to where a service is at that moment, each over a new connection, without a retry.
type Followed struct {
	target func() netip.AddrPort
	stop   atomic.Bool
	done   chan struct{}

	mu  sync.Mutex // guards sum
	sum FollowedSum
}

// FollowedSum is what has become of the requests.
type FollowedSum struct {
	Made    int
	By      map[netip.AddrPort]int // answered there
	Nodes   map[int]int            // answered by that node
	Refused []string               // no connection, or no answer in time: when, where and why
	Reset   []string               // ended by the other side before it had answered
	Longest time.Duration          // of those that were answered
}

// followedLimit is how long a request may take, connecting included.
const followedLimit = 3 * time.Second

// Request makes a request from the peer at each interval, one after the other, to where target says that the service is then.
func (l *Lab) Request(from *Peer, every time.Duration, target func() netip.AddrPort) *Followed {
	f := &Followed{target: target, done: make(chan struct{}), sum: FollowedSum{By: map[netip.AddrPort]int{}, Nodes: map[int]int{}}}
	go func() {
		defer close(f.done)
		for next := l.Now(); !f.stop.Load(); next = max(next+every, l.Now()) {
			time.Sleep(next - l.Now())
			f.request(l, from.Namespace)
		}
	}()
	l.atEnd(func() { f.stop.Store(true) })
	return f
}

func (f *Followed) request(l *Lab, from *Namespace) {
	to, began := f.target(), l.Now()
	node, err := askAt(from, to, "/readyz", followedLimit)
	took := l.Now() - began
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sum.Made++
	failure := func() string { return fmt.Sprintf("%v at %s after %v: %v", began, to, took, err) }
	switch {
	case err == nil:
		f.sum.By[to]++
		f.sum.Nodes[node]++
		f.sum.Longest = max(f.sum.Longest, took)
	case errors.Is(err, unix.ECONNRESET), errors.Is(err, unix.EPIPE):
		f.sum.Reset = append(f.sum.Reset, failure())
	default:
		f.sum.Refused = append(f.sum.Refused, failure())
	}
}

// Sum is what has become of the requests until now.
func (f *Followed) Sum() FollowedSum {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.sum
	out.By, out.Nodes = maps.Clone(f.sum.By), maps.Clone(f.sum.Nodes)
	return out
}

// Stop ends the requests.
func (f *Followed) Stop() FollowedSum {
	f.stop.Store(true)
	<-f.done
	return f.Sum()
}

// Answers tells whether a request from there is answered over HTTPS.
func (l *Lab) Answers(from *Namespace, at netip.AddrPort) bool {
	_, err := askAt(from, at, "/readyz", followedLimit)
	return err == nil
}
