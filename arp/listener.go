package arp

import (
	"net"
	"net/netip"
	"slices"
	"sync"
)

// Listener hears who on a link claims addresses, for any number of watchers: they share one socket of each family, which is open while
// anybody watches an address of it.
type Listener struct {
	ifi     net.Interface
	failed  func(error)
	hearing sync.WaitGroup // of every socket there was

	mu      sync.Mutex // guards what follows, and held while a claim is reported
	watched map[netip.Addr][]*watcher
	sockets map[family]*listenSocket
	closed  bool
}

// watcher is one call of Watch.
type watcher struct {
	addrs  []netip.Addr
	report func(Claim)
}

// NewListener makes a Listener on ifi, of which Index and Name are used. It opens nothing yet; what it opens takes CAP_NET_RAW. A socket that
// fails, or that cannot be opened, is opened again after a second: failed is told why nothing is heard until then. That wraps ErrGone when
// the interface was deleted; one that is down is waited for. failed must not block or call the Listener.
func NewListener(ifi *net.Interface, failed func(error)) *Listener {
	return &Listener{ifi: *ifi, failed: failed, watched: map[netip.Addr][]*watcher{}, sockets: map[family]*listenSocket{}}
}

// Watch reports every claim to one of addrs that is heard, those of the rightful holder included, until stop has returned. What this node
// itself sends is not heard. report runs on the Listener's goroutines; it must not block or call the Listener.
func (l *Listener) Watch(addrs []netip.Addr, report func(Claim)) (stop func()) {
	w := &watcher{addrs: slices.Clone(addrs), report: report}
	l.mu.Lock()
	defer l.mu.Unlock()
	fresh := map[family]bool{}
	for _, a := range w.addrs {
		if list := l.watched[a]; !slices.Contains(list, w) {
			fresh[familyOf(a)] = fresh[familyOf(a)] || len(list) == 0
			l.watched[a] = append(list, w)
		}
	}
	for f, yes := range fresh {
		if yes && !l.closed {
			l.listen(f)
		}
	}
	return sync.OnceFunc(func() { l.leave(w) })
}

// leave ends what Watch began. The filter goes on to let the addresses in until the next change.
func (l *Listener) leave(w *watcher) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range w.addrs {
		left := slices.DeleteFunc(l.watched[a], func(o *watcher) bool { return o == w })
		if len(left) == 0 {
			delete(l.watched, a)
			continue
		}
		l.watched[a] = left
	}
	for f, e := range l.sockets {
		if !l.watches(f) {
			e.stop()
			delete(l.sockets, f)
		}
	}
}

// Close ends all watching and waits for the goroutines.
func (l *Listener) Close() {
	l.mu.Lock()
	l.closed = true
	for f, e := range l.sockets {
		e.stop()
		delete(l.sockets, f)
	}
	clear(l.watched)
	l.mu.Unlock()
	l.hearing.Wait()
}

// dispatch reports a claim to those whom it concerns.
func (l *Listener) dispatch(c Claim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.watched[c.Addr] {
		w.report(c)
	}
}

func (l *Listener) watches(f family) bool {
	for a := range l.watched {
		if familyOf(a) == f {
			return true
		}
	}
	return false
}

// addresses are the watched ones of a family.
func (l *Listener) addresses(f family) []netip.Addr {
	var out []netip.Addr
	for a := range l.watched {
		if familyOf(a) == f {
			out = append(out, a)
		}
	}
	return out
}
