package members

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/keepvip/keepvip/vrrp"
)

// lan is a virtual link, in virtual time, of nodes that pass the address on. Beside its Machine each has the smallest
// election that there can be, VRRP's timers, and the kernel's fence: without an advertisement of its own for a lease it
// answers no more. Invariants are checked after each event.
type lan struct {
	t     *testing.T
	rng   *rand.Rand
	now   time.Time
	nodes []*node
	air   []flight

	interval, delay time.Duration
	loss            float64
	quiet           bool // nothing is lost, late or apart

	trace []string
	takes int
}

type node struct {
	lan    *lan
	name   string
	addr   netip.Addr
	base   uint8
	m      *Machine // nil: off
	fit    bool     // as its probes find
	told   bool     // as its election knows
	spread *Spread
	state  vrrp.State
	side   int

	advert        time.Time // Active: when the next is due
	sent          time.Time // when the last left
	start         time.Time // Backup: the Active_Down_Timer runs from here
	tieBreakDelay time.Duration
	bound         bool // the address is on it
	shut          bool // and nobody is told so
	session       uint64
	announce      time.Time // Active: the address is bound and announced from here on; zero when that was told
}

// flight is something on its way to a node, or a probe that will have a result.
type flight struct {
	at       time.Time
	to       *node
	from     *node
	message  *Message
	priority uint8 // of an advertisement, if message is nil and confirm is 0
	confirm  uint64
}

func newLAN(t *testing.T, seed uint64, interval time.Duration, bases ...uint8) *lan {
	l := &lan{t: t, rng: rand.New(rand.NewPCG(seed, 7)), now: epoch, interval: interval, delay: interval / 200, quiet: true}
	for i, b := range bases {
		l.nodes = append(l.nodes, &node{
			lan: l, name: fmt.Sprint("n", i), base: b, addr: netip.AddrFrom4([4]byte{10, 77, 0, byte(11 + i)}),
			tieBreakDelay: time.Duration(i) * interval / 8 / time.Duration(len(bases)),
		})
	}
	return l
}

func (l *lan) note(format string, args ...any) {
	l.trace = append(l.trace, fmt.Sprintf("%12v  ", l.now.Sub(epoch))+fmt.Sprintf(format, args...))
}

func (l *lan) fail(format string, args ...any) {
	l.t.Helper()
	text := ""
	for _, line := range l.trace[max(0, len(l.trace)-60):] {
		text += line + "\n"
	}
	l.t.Fatalf("%s%12v  %s", text, l.now.Sub(epoch), fmt.Sprintf(format, args...))
}

func (l *lan) draw(most time.Duration) time.Duration {
	return time.Duration(l.rng.Int64N(int64(most) + 1))
}

func (l *lan) lease() time.Duration { return 3*l.interval - 10*ms }

func (l *lan) start(n *node) {
	n.session++
	n.m = NewMachine(Config{
		Group: group, Address: n.addr, Node: n.name, Session: n.session, Preempt: true, RecoverHold: 5 * time.Second, Lease: l.lease(),
	})
	n.state, n.start, n.bound, n.shut, n.told = vrrp.Backup, l.now, false, false, n.fit
	n.tell()
}

// kill leaves the address to the fence.
func (l *lan) kill(n *node) {
	l.note("kill %s", n.name)
	n.m = nil
}

func (n *node) priority() uint8 {
	if n.told {
		return n.base
	}
	return 1
}

// down is the Active_Down_Interval.
func (n *node) down() time.Duration {
	return 3*n.lan.interval + n.lan.interval*time.Duration(256-int(n.priority()))/256 + n.tieBreakDelay
}

func (n *node) tell() {
	n.step(SetSelf{Self: Self{State: n.state, Base: n.base, Priority: n.priority(), Fit: n.told, Spread: n.spread}})
}

// setFit changes what probes find; the election hears of it after the check's fall or rise.
func (n *node) setFit(fit bool) {
	n.lan.note("%s fit=%v", n.name, fit)
	n.fit = fit
}

func (n *node) judge() {
	if n.m == nil || n.told == n.fit {
		return
	}
	n.told = n.fit
	n.tell()
	if n.state == vrrp.Active {
		n.sendAdvert()
	}
}

func (n *node) step(ev Event) {
	if n.m == nil {
		return
	}
	for _, a := range slices.Clone(n.m.Step(n.lan.now, ev)) {
		n.act(a)
	}
}

func (n *node) act(a Action) {
	l := n.lan
	switch a := a.(type) {
	case Send:
		n.send(a.Message)
	case Confirm:
		l.air = append(l.air, flight{at: l.now.Add(l.draw(5 * ms)), to: n, confirm: a.ID})
	case Pass:
		l.note("%s passes to %v", n.name, a.To)
		n.shut, n.state, n.start, n.announce = true, vrrp.Backup, l.now, time.Time{}
		n.step(Passed{})
	case Release:
		l.note("%s releases, heard=%v", n.name, a.Heard)
		n.bound, n.shut = false, false
	case Take:
		l.note("%s takes", n.name)
		l.takes++
		l.checkTake(n, a.From)
		n.become()
	}
}

func (n *node) send(m Message) {
	if m.Type != Hello {
		n.lan.note("%s sends %v nonce %d", n.name, m.Type, m.Transfer.Nonce)
	}
	n.toAll(flight{message: &m})
}

func (n *node) sendAdvert() {
	n.sent, n.advert = n.lan.now, n.lan.now.Add(n.lan.interval)
	n.toAll(flight{priority: n.priority()})
}

func (n *node) toAll(f flight) {
	l := n.lan
	for _, to := range l.nodes {
		if to == n || to.side != n.side || l.rng.Float64() < l.loss {
			continue
		}
		f.from, f.to, f.at = n, to, l.now.Add(l.draw(l.delay))
		l.air = append(l.air, f)
		if !l.quiet && l.rng.Float64() < l.loss { // twice
			f.at = f.at.Add(l.draw(l.interval))
			l.air = append(l.air, f)
		}
	}
}

// become makes a Backup the Active: the advertisement first, then the address, and then it is told.
func (n *node) become() {
	n.state, n.bound, n.shut = vrrp.Active, true, false
	n.sendAdvert()
	n.announce = n.lan.now.Add(ms)
}

func (n *node) yield() {
	n.state, n.bound, n.shut, n.start, n.announce = vrrp.Backup, false, false, n.lan.now, time.Time{}
	n.tell()
}

func (n *node) heard(f flight) {
	if n.m == nil {
		return
	}
	own, theirs := n.priority(), f.priority
	switch {
	case n.state == vrrp.Active && outranks(theirs, f.from.addr, own, n.addr):
		n.lan.note("%s yields to %s", n.name, f.from.name)
		n.yield()
		n.start = n.lan.now
	case n.state == vrrp.Active && n.lan.now.Sub(n.sent) >= ms:
		n.sendAdvert()
	case n.state == vrrp.Active:
	case theirs >= own || n.m.Defers(n.lan.now, f.from.addr):
		n.start = n.lan.now
	}
}

func (l *lan) deliver(f flight) {
	switch {
	case f.confirm != 0:
		f.to.step(Confirmed{ID: f.confirm, Fit: f.to.fit})
	case f.message != nil:
		f.to.step(Received{Source: f.from.addr, Message: *f.message})
	default:
		f.to.heard(f)
	}
}

// due is when the node has something to do by itself, and what.
func (n *node) due() (at time.Time, do func()) {
	if n.m == nil {
		return at, nil
	}
	if d, ok := n.m.Deadline(); ok {
		at, do = d, func() { n.step(Expired{}) }
	}
	first := func(t time.Time, f func()) {
		if at.IsZero() || t.Before(at) {
			at, do = t, f
		}
	}
	if n.state == vrrp.Active {
		first(n.advert, n.sendAdvert)
		if !n.announce.IsZero() {
			first(n.announce, func() { n.announce = time.Time{}; n.tell() })
		}
		return at, do
	}
	first(n.start.Add(n.down()), func() {
		n.lan.note("%s hears nothing", n.name)
		n.become()
	})
	return at, do
}

// run lets time pass.
func (l *lan) run(d time.Duration) {
	end := l.now.Add(d)
	for {
		at := end
		do := func() {}
		for i, f := range l.air {
			if f.at.Before(at) {
				at, do = f.at, func() { l.air = slices.Delete(l.air, i, i+1); l.deliver(f) }
			}
		}
		for _, n := range l.nodes {
			if t, f := n.due(); f != nil && t.Before(at) {
				at, do = t, f
			}
		}
		if at.After(l.now) {
			l.now = at
		}
		if at == end {
			return
		}
		do()
		l.checkAnswering()
	}
}

// answers tells whether the node answers ARP for the address now.
func (n *node) answers() bool {
	return n.bound && !n.shut && n.lan.now.Before(n.sent.Add(n.lan.lease()))
}

func (l *lan) answering() (out []*node) {
	for _, n := range l.nodes {
		if n.answers() {
			out = append(out, n)
		}
	}
	return out
}

// checkTake wants that whoever has granted does not answer any more, however late the GRANT came.
func (l *lan) checkTake(n *node, from netip.Addr) {
	for _, o := range l.nodes {
		if o.addr == from && o.answers() {
			l.fail("%s takes from %s, which answers", n.name, o.name)
		}
	}
}

// checkAnswering wants that on a link that works nobody answers beside another, at any moment.
func (l *lan) checkAnswering() {
	if list := l.answering(); l.quiet && len(list) > 1 {
		l.fail("%s and %s answer", list[0].name, list[1].name)
	}
}

// holder wants exactly one.
func (l *lan) holder() *node {
	l.t.Helper()
	list := l.answering()
	if len(list) != 1 {
		l.fail("%d answer, want 1", len(list))
	}
	return list[0]
}
