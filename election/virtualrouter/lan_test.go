package virtualrouter

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keepvip/keepvip/election"

	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/vrrp"
)

var (
	vip   = netip.MustParseAddr("10.77.0.100")
	nodeA = netip.MustParseAddr("10.77.0.11")
	nodeB = netip.MustParseAddr("10.77.0.12")
	nodeC = netip.MustParseAddr("10.77.0.13")
)

var quiet = slog.New(slog.DiscardHandler)

const interval = 100 * time.Millisecond

// lan is a network in memory. Advertisements take a millisecond.
type lan struct {
	slow atomic.Int64 // nanoseconds that a host takes to bind

	mu    sync.Mutex // guards what follows
	wires []*lanWire
	talk  bool // the nodes that start speak the members' protocol
	mail  []*messageWire
	later time.Duration // by which the messages of the members' protocol take longer
	cut   map[netip.Addr]bool
	mute  map[[2]netip.Addr]bool // advertisements do not get from the first node to the second
	deaf  map[[2]netip.Addr]bool // messages are refused
	log   []entry

	nothing map[netip.Addr]bool // nothing arrives at the node
	ask     bool                // the nodes that start have ears
	ears    []*lanEars
	hosts   []netip.Addr // that answer beside the nodes

	nodes []*member
	lines bool                     // the nodes that start have lifelines
	dead  map[netip.Addr]bool      // nodes whose process has ended, and whose lease their kernel has taken away
	mum   bool                     // answers to questions for the address are lost
	asked []netip.Addr             // what was asked for
	felt  map[netip.Addr]*lanPulse // of the nodes; nil: they have none

	bound  int          // addresses that the nodes that start bind; 0: those that they advertise
	logger *slog.Logger // of the nodes that start; nil: quiet
	none   bool         // the nodes that start are no candidates

	entries int          // of the nodes that start, as far as they know
	peers   []netip.Addr // that they have in their configuration

	loses func() bool // an advertisement on its way to one node; nil: none
}

// entry is one thing that happened, in order.
type entry struct {
	node netip.Addr
	what string // "send N" with the priority, "bind", "release", "again"
	at   time.Time
}

func newLAN() *lan {
	return &lan{cut: map[netip.Addr]bool{}, mute: map[[2]netip.Addr]bool{}, deaf: map[[2]netip.Addr]bool{}, nothing: map[netip.Addr]bool{}, dead: map[netip.Addr]bool{}}
}

func (l *lan) note(node netip.Addr, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log = append(l.log, entry{node, what, time.Now()})
}

// isolate cuts a node off, or joins it again.
func (l *lan) isolate(node netip.Addr, cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut[node] = cut
}

func (l *lan) what(node netip.Addr) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, e := range l.log {
		if e.node == node {
			out = append(out, e.what)
		}
	}
	return out
}

// lanWire is a Wire on a lan.
type lanWire struct {
	lan    *lan
	self   netip.Addr
	box    *mailbox
	frozen chan struct{} // closed: runs

	rejected *election.Rejections
	list     []netip.Addr
	way      []Arrival // to this node
	drained  func()    // guarded by lan.mu: called at the end of each Drain; nil for nothing
}

func (l *lan) join(self netip.Addr) *lanWire {
	w := &lanWire{lan: l, self: self, box: newMailbox(), frozen: make(chan struct{}), rejected: newRejections(quiet)}
	close(w.frozen)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wires = append(l.wires, w)
	return w
}

func (w *lanWire) Send(adv vrrp.Advertisement) error {
	w.lan.mu.Lock()
	frozen := w.frozen
	w.lan.mu.Unlock()
	<-frozen
	w.lan.mu.Lock()
	defer w.lan.mu.Unlock()
	w.lan.log = append(w.lan.log, entry{w.self, "send " + string(rune('0'+min(adv.Priority, 1))), time.Now()})
	if w.lan.cut[w.self] {
		return nil
	}
	for _, o := range w.lan.wires {
		if o != w && !w.lan.cut[o.self] && !w.lan.nothing[o.self] && !w.lan.mute[[2]netip.Addr{w.self, o.self}] && (w.lan.loses == nil || !w.lan.loses()) {
			o.way = append(o.way, Arrival{Source: w.self, Advertisement: adv})
			time.AfterFunc(time.Millisecond, o.arrive)
		}
	}
	return nil
}

// arrive delivers what has been on its way for longest: what leaves in an order arrives in it.
func (w *lanWire) arrive() {
	w.lan.mu.Lock()
	next := w.way[0]
	w.way = w.way[1:]
	w.lan.mu.Unlock()
	next.At = time.Now()
	w.box.put(next)
}

func (w *lanWire) Unsent() (uint64, map[netip.Addr]error) { return 0, nil }

func (w *lanWire) Arrived() <-chan struct{}         { return w.box.arrived }
func (w *lanWire) Take(dst []Arrival) []Arrival     { return w.box.take(dst) }
func (w *lanWire) Rejections() *election.Rejections { return w.rejected }

func (w *lanWire) Drain(time.Time) {
	w.lan.mu.Lock()
	drained := w.drained
	w.lan.mu.Unlock()
	if drained != nil {
		drained()
	}
}

func (w *lanWire) SetAddresses(list []netip.Addr) {
	w.lan.mu.Lock()
	defer w.lan.mu.Unlock()
	w.list = list
}

func (w *lanWire) addresses() []netip.Addr {
	w.lan.mu.Lock()
	defer w.lan.mu.Unlock()
	return w.list
}

func (w *lanWire) Close() error { return nil }

// freeze stops a node at its next advertisement, until thaw.
func (w *lanWire) freeze() (thaw func()) {
	w.lan.mu.Lock()
	defer w.lan.mu.Unlock()
	c := make(chan struct{})
	w.frozen = c
	return func() { close(c) }
}

// member is one elector with the host that follows it.
type member struct {
	election.Elector
	self   netip.Addr
	wire   *lanWire
	cancel context.CancelCauseFunc
	ended  chan error

	mu        sync.Mutex // guards what follows
	decisions []election.Decision
	bound     bool
	refuse    bool // the host cannot bind
	busy      int  // so often the host cannot be quiet
}

var errRefused = errors.New("the host refuses")

func (m *member) apply(d election.Decision) error {
	if d.Role == election.Serve && m.played() != election.Serve {
		time.Sleep(time.Duration(m.wire.lan.slow.Load()))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before := election.Off
	if len(m.decisions) > 0 {
		before = m.decisions[len(m.decisions)-1].Role
	}
	if d.Role == election.Quiet && m.busy > 0 {
		m.busy--
		m.wire.lan.note(m.self, "busy")
		return errRefused
	}
	m.decisions = append(m.decisions, d)
	switch {
	case d.Role == election.Quiet:
		m.bound = false
		m.wire.lan.note(m.self, "quiet")
	case d.Role == election.Serve && before == election.Serve:
		m.wire.lan.note(m.self, "again")
	case d.Role == election.Serve && m.refuse:
		return errRefused
	case d.Role == election.Serve:
		m.bound = true
		m.wire.lan.note(m.self, "bind")
	case before == election.Serve || before == election.Quiet:
		m.bound = false
		m.wire.lan.note(m.self, "release")
	}
	return nil
}

// played is the newest role.
func (m *member) played() election.Role {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.decisions) == 0 {
		return election.Off
	}
	return m.decisions[len(m.decisions)-1].Role
}

func (m *member) holds() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bound
}

func (m *member) setRefuse(r bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refuse = r
}

func (m *member) stop() error {
	m.cancel(nil)
	return <-m.ended
}

// start runs an elector on the lan until the test ends.
func (l *lan) start(t *testing.T, self netip.Addr, change func(*vrrp.Config)) *member {
	t.Helper()
	return l.startGrouped(t, self, nil, change)
}

// startLogging runs one that is alone and writes a log.
func (l *lan) startLogging(t *testing.T, self netip.Addr, log *slog.Logger) *member {
	t.Helper()
	l.logger = log
	defer func() { l.logger = nil }()
	return l.start(t, self, nil)
}

// startGrouped runs one that is in a group.
func (l *lan) startGrouped(t *testing.T, self netip.Addr, in *GroupMember, change func(*vrrp.Config)) *member {
	t.Helper()
	cfg := vrrp.Config{
		Version: 3, VRID: 51, Priority: 100, Interval: interval, Preempt: true,
		Source: self, Addresses: []netip.Addr{vip},
	}
	if change != nil {
		change(&cfg)
	}
	wire := l.join(self)
	vc := Config{Router: cfg, Bound: l.bound, GroupMember: in, NoCandidate: l.none, Entries: l.entries, Peers: l.peers}
	if l.ask {
		ears := &lanEars{lan: l, self: self}
		l.mu.Lock()
		l.ears = append(l.ears, ears)
		l.mu.Unlock()
		vc.Ears = ears
	}
	if l.talk {
		l.meet(self, &vc)
	}
	if l.felt != nil {
		l.felt[self] = &lanPulse{}
		vc.Pulse, vc.AsMember.Fast = l.felt[self], true
	}
	if l.lines || l.felt != nil {
		vc.Answers, vc.Held = l.answers, func() []netip.Addr { return []netip.Addr{nodeA} }
	}
	e, err := New(vc, wire, cmp.Or(l.logger, quiet))
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	m := &member{Elector: e, self: self, wire: wire, cancel: cancel, ended: make(chan error, 1)}
	l.mu.Lock()
	l.nodes = append(l.nodes, m)
	l.mu.Unlock()
	go func() { m.ended <- e.Run(ctx, m.apply) }()
	return m
}

func holders(members ...*member) []netip.Addr {
	var out []netip.Addr
	for _, m := range members {
		if m.holds() {
			out = append(out, m.self)
		}
	}
	return out
}

// holder waits a while and requires exactly one.
func holder(t *testing.T, after time.Duration, members ...*member) *member {
	t.Helper()
	time.Sleep(after)
	list := holders(members...)
	require.Len(t, list, 1, "holders")
	return members[slices.IndexFunc(members, func(m *member) bool { return m.self == list[0] })]
}

func stopAll(t *testing.T, members ...*member) {
	t.Helper()
	for _, m := range members {
		require.NoError(t, m.stop())
	}
}

// taken are the decisions by which the address was passed on to this node.
func (m *member) taken() (out []election.Decision) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range m.decisions {
		if d.Granted {
			out = append(out, d)
		}
	}
	return out
}

// last is the newest decision.
func (m *member) last() election.Decision {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.decisions[len(m.decisions)-1]
}
