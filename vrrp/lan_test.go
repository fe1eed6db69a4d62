package vrrp

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// lan is a virtual link with machines on it, in virtual time. Each machine's port also has a client, whose neighbour
// cache believes the last announcement that reached it. Invariants are checked after each event (lan_invariants_test.go).
type lan struct {
	t     *testing.T
	now   time.Duration
	rng   *rand.Rand
	hosts []*host
	air   []packet

	delay, late time.Duration // upper bounds: each packet and each timer draws its own
	loss        float64

	watch invariants
	trace []string
}

type host struct {
	name          string
	cfg           Config
	tieBreakDelay time.Duration
	m             *Machine // nil: off
	frozen        bool
	paused        bool       // frozen with its kernel, as a virtual machine: nothing is queued
	waiting       []Received // what came in while it was frozen
	side          int        // of the partition
	at            time.Duration
	wake          time.Duration // when the timer is served: at, and some lateness
	armed         bool
	cache         *host // of the client on its port
	silent        bool  // stepped down without a word, because it was frozen
}

// packet is an advertisement, or an announcement of the addresses by from, on its way to one port.
type packet struct {
	at       time.Duration
	from, to *host
	advert   *Advertisement
}

func newLAN(t *testing.T, seed uint64) *lan {
	l := &lan{t: t, rng: rand.New(rand.NewPCG(seed, 1))}
	l.watch.reset()
	return l
}

func (l *lan) add(name string, cfg Config, tieBreakDelay time.Duration) *host {
	cfg.Source = netip.AddrFrom4([4]byte{10, 9, 0, uint8(11 + len(l.hosts))})
	h := &host{name: name, cfg: cfg, tieBreakDelay: tieBreakDelay}
	l.hosts = append(l.hosts, h)
	return h
}

func (l *lan) note(format string, args ...any) {
	l.trace = append(l.trace, fmt.Sprintf("%12v  ", l.now)+fmt.Sprintf(format, args...))
}

// fail reports a broken invariant with the last of what happened.
func (l *lan) fail(format string, args ...any) {
	l.t.Helper()
	from := max(0, len(l.trace)-60)
	text := ""
	for _, line := range l.trace[from:] {
		text += line + "\n"
	}
	l.t.Fatalf("%s%12v  %s", text, l.now, fmt.Sprintf(format, args...))
}

func (l *lan) draw(most time.Duration) time.Duration {
	if most <= 0 {
		return 0
	}
	return time.Duration(l.rng.Int64N(int64(most) + 1))
}

// step gives one event to a host's machine and carries out what it wants.
func (l *lan) step(h *host, ev Event) {
	for _, a := range h.m.Step(epoch.Add(l.now), ev) {
		switch a := a.(type) {
		case Send:
			l.note("%s sends %d", h.name, a.Advertisement.Priority)
			l.transmit(h, a.Advertisement)
		case Change:
			l.note("%s %v to %v: %s", h.name, a.From, a.To, a.Reason)
			l.watch.changed(l, h, a)
			if a.To == Active {
				l.announce(h)
			}
		case Reannounce:
			l.note("%s reannounces because of %v", h.name, a.Rival)
			l.announce(h)
		}
	}
	l.rearm(h)
}

// rearm draws how late the timer will be served, once for each deadline.
func (l *lan) rearm(h *host) {
	deadline, ok := h.m.Deadline()
	at := deadline.Sub(epoch)
	if ok && (!h.armed || at != h.at) {
		h.at, h.wake = at, max(at, l.now)+l.draw(l.late)
	}
	h.armed = ok
}

func (l *lan) transmit(from *host, a Advertisement) {
	for _, to := range l.hosts {
		if to != from && to.side == from.side && l.rng.Float64() >= l.loss {
			l.air = append(l.air, packet{at: l.now + l.draw(l.delay), from: from, to: to, advert: &a})
		}
	}
}

func (l *lan) announce(from *host) {
	for _, to := range l.hosts {
		if to.side == from.side {
			l.air = append(l.air, packet{at: l.now + l.draw(l.delay), from: from, to: to})
		}
	}
}

func (l *lan) deliver(p packet) {
	switch {
	case p.advert == nil:
		p.to.cache = p.from
	case p.to.m == nil:
	case p.to.paused:
		l.watch.unheard = true
	case p.to.frozen:
		p.to.waiting = append(p.to.waiting, Received{Source: p.from.cfg.Source, Advertisement: *p.advert})
	default:
		l.step(p.to, Received{Source: p.from.cfg.Source, Advertisement: *p.advert})
	}
}

// run lets time pass.
func (l *lan) run(d time.Duration) {
	end := l.now + d
	for {
		at, do := l.next(end)
		l.watch.pass(l, at)
		l.now = at
		if do == nil {
			return
		}
		do()
		l.watch.check(l)
	}
}

// next finds what comes first: a packet, a timer, or the end.
func (l *lan) next(end time.Duration) (time.Duration, func()) {
	at := end
	var do func()
	for i, p := range l.air {
		if p.at < at {
			at, do = p.at, func() { l.air = slices.Delete(l.air, i, i+1); l.deliver(p) }
		}
	}
	for _, h := range l.hosts {
		if h.m != nil && h.armed && !h.frozen && h.wake < at {
			at, do = max(h.wake, l.now), func() { l.step(h, Expired{}); l.served(h) }
		}
	}
	return at, do
}

// served wants a timer that was served to be gone: a deadline that stays in the past would spin a real loop.
func (l *lan) served(h *host) {
	if deadline, ok := h.m.Deadline(); ok && deadline.Sub(epoch) <= l.now {
		l.fail("%s: deadline %v is still in the past after Expired", h.name, deadline.Sub(epoch))
	}
}

func (l *lan) start(h *host) {
	m, err := NewMachine(h.cfg)
	require.NoError(l.t, err)
	h.m, h.frozen, h.paused, h.armed, h.waiting = m, false, false, false, nil
	l.disturb("start %s", h.name)
	l.step(h, SetTieBreakDelay{h.tieBreakDelay})
	l.step(h, Startup{})
}

func (l *lan) stop(h *host) {
	l.disturb("stop %s", h.name)
	l.step(h, Shutdown{})
	h.m, h.armed = nil, false
}

func (l *lan) kill(h *host) {
	l.disturb("kill %s", h.name)
	h.m, h.armed, h.frozen, h.paused = nil, false, false, false
}

func (l *lan) freeze(h *host) {
	l.disturb("freeze %s", h.name)
	h.frozen = true
}

// pause freezes a whole machine.
func (l *lan) pause(h *host) {
	l.freeze(h)
	h.paused = true
}

// thaw drains what has come in, and then serves the timer, as the loop around a machine does.
func (l *lan) thaw(h *host) {
	l.disturb("thaw %s", h.name)
	h.frozen, h.paused = false, false
	for _, r := range h.waiting {
		l.step(h, r)
	}
	h.waiting = nil
	l.step(h, Expired{})
}

func (l *lan) setPriority(h *host, priority uint8) {
	l.disturb("priority %s %d", h.name, priority)
	l.step(h, SetPriority{priority})
}

func (l *lan) setInterval(h *host, interval time.Duration) {
	l.disturb("interval %s %v", h.name, interval)
	h.cfg.Interval = interval
	l.step(h, Reconfigure{h.cfg})
}

// split puts each host on a side; none means all on one.
func (l *lan) split(sides map[*host]int) {
	l.disturb("split")
	for _, h := range l.hosts {
		h.side = sides[h]
	}
}

func (l *lan) setLoss(share float64) {
	l.disturb("loss %v", share)
	l.loss = share
}

// disturb notes that the link or a host is about to change: the invariants give it time to settle.
func (l *lan) disturb(format string, args ...any) {
	l.note(format, args...)
	l.watch.disturbed, l.watch.quiet = l.now, max(l.watch.quiet, l.now+l.settle())
}
