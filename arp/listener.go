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
	watched map[netip.Addr]*watched
	sockets map[family]*listenSocket
	closed  bool
}

// watched is who watches an address. Many Virtual Routers watch the own addresses of the same members, which answer often: what is nothing new to any
// of them costs one comparison.
type watched struct {
	every, changes []*watcher
	told           net.HardwareAddr // of which all of changes have been told; nil: not all have
}

// watcher is one call of Watch or WatchChanges.
type watcher struct {
	addrs  []netip.Addr
	report func(Claim) bool
	last   map[netip.Addr]string // the MAC of each address, as it was reported last; nil: every claim is reported
}

// NewListener makes a Listener on ifi, of which Index and Name are used. It opens nothing yet; what it opens takes CAP_NET_RAW. A socket that
// fails, or that cannot be opened, is opened again after a second: failed is told why nothing is heard until then. That wraps ErrGone when
// the interface was deleted; one that is down is waited for. failed must not block or call the Listener.
func NewListener(ifi *net.Interface, failed func(error)) *Listener {
	return &Listener{ifi: *ifi, failed: failed, watched: map[netip.Addr]*watched{}, sockets: map[family]*listenSocket{}}
}

// Watch reports every claim to one of addrs that is heard, those of the rightful holder included, until stop has returned. What this node
// itself sends is not heard. report runs on the Listener's goroutines; it must not block or call the Listener.
func (l *Listener) Watch(addrs []netip.Addr, report func(Claim)) (stop func()) {
	return l.watch(&watcher{addrs: slices.Clone(addrs), report: func(c Claim) bool {
		report(c)
		return true
	}})
}

// WatchChanges is Watch for those who want to know only what a claim tells anew: the MAC. A claim that report does not take is new still.
func (l *Listener) WatchChanges(addrs []netip.Addr, report func(Claim) bool) (stop func()) {
	return l.watch(&watcher{addrs: slices.Clone(addrs), report: report, last: map[netip.Addr]string{}})
}

func (l *Listener) watch(w *watcher) (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fresh := map[family]bool{}
	for _, a := range w.addrs {
		at := l.watched[a]
		if at == nil {
			at = &watched{}
			l.watched[a] = at
			fresh[familyOf(a)] = true
		}
		at.join(w)
	}
	for f := range fresh {
		if !l.closed {
			l.listen(f)
		}
	}
	return sync.OnceFunc(func() { l.leave(w) })
}

func (w *watched) join(o *watcher) {
	list := &w.every
	if o.last != nil {
		list, w.told = &w.changes, nil
	}
	if !slices.Contains(*list, o) {
		*list = append(*list, o)
	}
}

// leave ends what Watch began. The filter goes on to let the addresses in until the next change.
func (l *Listener) leave(w *watcher) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range w.addrs {
		at := l.watched[a]
		if at == nil {
			continue
		}
		gone := func(o *watcher) bool { return o == w }
		at.every, at.changes = slices.DeleteFunc(at.every, gone), slices.DeleteFunc(at.changes, gone)
		if len(at.every)+len(at.changes) == 0 {
			delete(l.watched, a)
		}
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
	at := l.watched[c.Addr]
	if at == nil {
		return
	}
	for _, w := range at.every {
		w.report(c)
	}
	if len(at.changes) > 0 && (at.told == nil || !slices.Equal(at.told, c.MAC)) {
		at.tellChange(c)
	}
}

func (w *watched) tellChange(c Claim) {
	mac, all := string(c.MAC), true
	for _, o := range w.changes {
		if o.last[c.Addr] == mac {
			continue
		}
		if o.report(c) {
			o.last[c.Addr] = mac
		} else {
			all = false
		}
	}
	w.told = nil
	if all {
		w.told = slices.Clone(c.MAC)
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
