package spread

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/spreadtables"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/members/slots"
)

const interval = 100 * time.Millisecond

func addr(n byte) netip.Addr { return netip.AddrFrom4([4]byte{10, 77, 0, n}) }

// said is what a member with the node's number says of itself.
func said(healthy bool) *election.Spread {
	return &election.Spread{Fit: healthy, Weight: 1, MAC: [6]byte{2, 0, 0, 0, 0, 1}, Ports: []election.SpreadPort{{Protocol: 6, Port: 9443, Healthy: healthy}}}
}

// fakeElector knows members as a test says.
type fakeElector struct {
	instance.Elector

	mu      sync.Mutex
	members map[netip.Addr]election.Member
	frozen  map[netip.Addr]bool // not heard any more
	spread  *election.Spread
	said    int
	changed chan struct{}
}

func newElector() *fakeElector {
	return &fakeElector{members: map[netip.Addr]election.Member{}, frozen: map[netip.Addr]bool{}, changed: make(chan struct{}, 1)}
}

func (e *fakeElector) set(m election.Member) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.members[m.Address] = m
}

func (e *fakeElector) remove(a netip.Addr) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.members, a)
}

// silence has a member no longer heard from now on.
func (e *fakeElector) silence(a netip.Addr) {
	e.mu.Lock()
	defer e.mu.Unlock()
	m := e.members[a]
	m.LastHeard = time.Now()
	e.members[a] = m
	e.frozen[a] = true
}

func (e *fakeElector) SetSpread(s *election.Spread) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.spread = s
	e.said++
}

func (e *fakeElector) own() *election.Spread {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.spread
}

func (e *fakeElector) times() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.said
}

func (e *fakeElector) Members() []election.Member {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []election.Member
	for a, m := range e.members {
		if !e.frozen[a] {
			m.LastHeard = time.Now()
		} else if time.Since(m.LastHeard) >= 350*time.Millisecond {
			m.State = election.Silent
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b election.Member) int { return a.Address.Compare(b.Address) })
	return out
}

func (e *fakeElector) MembersChanged() <-chan struct{} { return e.changed }

// fakeHost has planes in memory, and hosts that are there.
type fakeHost struct {
	mu     sync.Mutex
	setup  setup
	planes map[string]*fakePlane
	there  map[netip.Addr]bool
	asked  int

	tracked int // connections

	connects map[netip.AddrPort]error // what connecting to a service ends with; nil: it is taken
	looks    map[netip.AddrPort]int

	down   error // why this host cannot ask others; nil: it can
	broken error
	keeps  error         // why connections are not ended
	refuse int           // how often that was said
	dump   chan struct{} // until it is closed, no connections are counted; nil: at once
	stuck  chan struct{} // until it is closed, nothing that changes the kernel ends; nil: it ends at once
	still  bool          // it forwards nothing
	own    []netip.Addr  // nil: that of node 11
	toward netip.Addr    // from where it reaches the members

	uncounted error              // what counting connections ends with
	direct    map[netip.Addr]int // connections to this node's own address; nil: not known

	served  map[netip.Addr]int // connections by member that this host translates
	clients []spreadtables.Client
	poked   []spreadtables.Client

	masqueraded []spreadtables.Client // before the load was spread directly, to members that have died since
}

func newHost() *fakeHost {
	return &fakeHost{planes: map[string]*fakePlane{}, there: map[netip.Addr]bool{}, connects: map[netip.AddrPort]error{}, looks: map[netip.AddrPort]int{}, toward: addr(11)}
}

func (h *fakeHost) Open(name string) (Plane, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := &fakePlane{host: h, loose: true}
	h.planes[name] = p
	return p, nil
}

func (h *fakeHost) Own(instance.Place, []netip.Addr) []netip.Addr {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.own != nil {
		return h.own
	}
	return []netip.Addr{addr(11)}
}

func (h *fakeHost) Ask(ctx context.Context, _ instance.Place, member netip.Addr) error {
	h.mu.Lock()
	there, down := h.there[member], h.down
	h.asked++
	h.mu.Unlock()
	if down != nil {
		return down
	}
	if there {
		return nil
	}
	<-ctx.Done()
	return ErrSilent
}

func (h *fakeHost) Connect(ctx context.Context, _ instance.Place, at netip.AddrPort) error {
	h.mu.Lock()
	err := h.connects[at]
	h.looks[at]++
	h.mu.Unlock()
	if errors.Is(err, ErrSilent) {
		<-ctx.Done()
	}
	return err
}

// connect has connections to a service of a node end with that from now on.
func (h *fakeHost) connect(n byte, port uint16, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.connects[netip.AddrPortFrom(addr(n), port)] = err
}

func (h *fakeHost) Poke(list []spreadtables.Client) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.poked = append(h.poked, list...)
	return nil
}

func (h *fakeHost) questions() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked
}

func (h *fakeHost) set(a netip.Addr, there bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.there[a] = there
}

// delete is what a firewall does that begins with an empty rule set.
func (h *fakeHost) delete(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.planes[name].deleted = true
}

func (h *fakeHost) plane(name string) fakePlane {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.planes[name]; p != nil {
		return *p
	}
	return fakePlane{}
}

type fakePlane struct {
	host        *fakeHost
	cfg         spreadtables.Config
	applied     int
	renewed     int
	deleted     bool
	left        bool
	closed      bool
	loose       bool
	connections int
	own         int // of connections
	ended       [][]netip.Addr
	forgotten   []netip.Addr
	endedOwn    [][]netip.Addr
	ownersThen  []netip.Addr // who got connections when these were ended
}

func (p *fakePlane) change(f func()) error {
	p.host.mu.Lock()
	stuck := p.host.stuck
	p.host.mu.Unlock()
	if stuck != nil {
		<-stuck
	}
	p.host.mu.Lock()
	defer p.host.mu.Unlock()
	if p.host.broken != nil {
		p.host.refuse++
		return p.host.broken
	}
	f()
	return nil
}

func (p *fakePlane) Apply(c spreadtables.Config) error {
	return p.change(func() { p.cfg = c; p.applied++ })
}
func (p *fakePlane) Renew(time.Duration) error { return p.change(func() { p.renewed++ }) }
func (p *fakePlane) Mend() (mended bool, err error) {
	err = p.change(func() { mended, p.deleted = p.deleted, false })
	return mended, err
}

func (p *fakePlane) Abilities() spreadtables.Abilities {
	return spreadtables.Abilities{Ingress: true, SecondChance: p.loose}
}

func (p *fakePlane) Count(clients int) (spreadtables.Census, error) {
	p.host.mu.Lock()
	dump, err := p.host.dump, p.host.uncounted
	out := spreadtables.Census{Ports: map[spreadtables.Port]int{p.cfg.Ports[0]: p.connections}, Own: p.own, Clients: slices.Clone(p.host.clients)}
	out.Clients = out.Clients[:min(len(out.Clients), clients)]
	out.To, out.Direct = maps.Clone(p.host.served), maps.Clone(p.host.direct)
	p.host.mu.Unlock()
	if dump != nil {
		<-dump
	}
	return out, err
}
func (p *fakePlane) Leave()       { _ = p.change(func() { p.left = true }) }
func (p *fakePlane) Close() error { return p.change(func() { p.closed = true }) }

// bench is a service of node 11 beside members of the test's choice.
type bench struct {
	t       *testing.T
	service *Service
	elector *fakeElector
	host    *fakeHost
	log     *logged

	mu    sync.Mutex
	ready instance.Readiness
	good  map[string]bool
}

// setup is an entry, and what the process has for its service.
type setup struct {
	config.VIP
	backends  []*Backend
	followers Followers
	keyed     bool
	stays     bool
	stands    func(bool) // nil: nobody is told
	reloaded  bool
}

func spreadOne() setup {
	return setup{stays: true, VIP: config.VIP{
		Name: "api", Addresses: hosts(addr(100)), VRRP: config.VRRP{AdvertisementInterval: interval},
		Spread: config.Spread{Via: config.ViaDirect, Weight: 1, Ports: []config.SpreadPort{{Protocol: config.ProtocolTCP, Port: 9443, Target: 6443}}},
	}}
}

func hosts(all ...netip.Addr) (out []netip.Prefix) {
	for _, a := range all {
		out = append(out, netip.PrefixFrom(a, a.BitLen()))
	}
	return out
}

// entry is the entry of a setup that the host has from now on.
func (h *fakeHost) entry(s setup) config.VIP {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.setup = s
	for _, b := range s.backends {
		s.Spread.Backends = append(s.Spread.Backends, b.Backend)
	}
	return s.VIP
}

func (h *fakeHost) has() setup {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.setup
}

func (h *fakeHost) Backends(config.VIP) []*Backend { return h.has().backends }
func (h *fakeHost) Followers() Followers           { return h.has().followers }
func (h *fakeHost) Keyed() bool                    { return h.has().keyed }
func (h *fakeHost) Stays(string) bool              { return h.has().stays }

func (h *fakeHost) Stands(yes bool) {
	if tell := h.has().stands; tell != nil {
		tell(yes)
	}
}

func newBench(t *testing.T, s setup) *bench {
	b := &bench{t: t, elector: newElector(), host: newHost(), log: &logged{}, ready: instance.Readiness{Fit: true, Open: true}, good: map[string]bool{}}
	b.elector.set(election.Member{Address: addr(11), Self: true, Node: "n1"})
	b.service = New(b.host.entry(s), s.reloaded, b.host, slog.New(slog.NewTextHandler(b.log, nil)))
	t.Cleanup(func() { require.NoError(t, b.service.Close()) })
	return b
}

// reconfigure is a reload.
func (b *bench) reconfigure(s setup) bool { return b.service.Reconfigure(b.host.entry(s)) }

func (b *bench) begin() { b.beginAt(addr(11)) }

// beginAt begins a term of a node that speaks from there.
func (b *bench) beginAt(source netip.Addr) {
	b.service.Begin(instance.Term{
		Place: instance.Place{Index: 2, Name: "eth0", Source: source, MAC: "02:00:00:00:00:0b"}, Elector: b.elector,
		Ready:   func() instance.Readiness { b.mu.Lock(); defer b.mu.Unlock(); return b.ready },
		Healthy: func(check string) bool { b.mu.Lock(); defer b.mu.Unlock(); return b.good[check] },
	})
}

func (b *bench) member(n byte, healthy bool) {
	b.host.set(addr(n), true)
	b.elector.set(election.Member{Address: addr(n), Node: "n" + string('0'+n-10), Spread: said(healthy), Fit: new(healthy)})
}

// logged is what was written to the log.
type logged struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// lines are how many say that.
func (l *logged) lines(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

// shares are the slots of each member of a table, and what is expected of it: "11 fit 40, 12 keeps 0".
func shares(s *instance.SpreadStatus, table int) map[string]int {
	out := map[string]int{}
	for _, share := range s.Tables[table].Shares {
		out[share.Address.String()+" "+share.Condition] = share.Slots
	}
	return out
}

func (b *bench) shares() map[string]int { return shares(b.service.Status().Spread, 0) }

// owner of each slot that is not among those of the members in the table.
func nobody(t *slots.Table) int {
	_, n := t.Owned(slots.Most)
	return n
}
