package address

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keepvip/keepvip/arp"
	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/fence"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

var (
	vip4  = netip.MustParsePrefix("10.77.0.100/32")
	vip6  = netip.MustParsePrefix("fd77::100/128")
	vips  = []netip.Prefix{vip4, vip6}
	nodeA = netip.MustParseAddr("10.77.0.11")
	nodeB = netip.MustParseAddr("10.77.0.12")
)

const eth0 = 2

// fakeHost is a machine that prints what is done to it.
type fakeHost struct {
	mu        sync.Mutex // guards what follows
	place     instance.Place
	err       error // of findPlace
	fail      error // of Bind
	bound     []Binding
	did       []string
	valid     time.Duration // of the newest Bind
	open      int           // connections
	uncounted error         // why connections are not counted
	slow      time.Duration // of Unbind
	stays     error         // of Unbind
	cleared   []int         // the links of Unbind, whatever was there

	announcing func() error // of Announce; nil: it succeeds

	claims chan Claim            // what others say on the link
	owners map[netip.Addr]string // MACs of others that answer probes
	probed []netip.Addr

	forgotten []netip.Addr // of ForgetEnded

	routers map[string]instance.Router // what foreign hosts say by VRRP, by MAC
}

var _ Host = (*fakeHost)(nil)

func newFakeHost() *fakeHost {
	return &fakeHost{place: instance.Place{Index: eth0, Name: "eth0", Source: nodeA}, claims: make(chan Claim), owners: map[netip.Addr]string{}}
}

func (h *fakeHost) Listen(_ instance.Place, addresses []netip.Addr, report func(Claim)) func() {
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case c := <-h.claims:
				if slices.Contains(addresses, c.Address) {
					report(c)
				} else {
					go h.say(ctx, c) // for another listener
				}
			}
		}
	}()
	return stop
}

func (h *fakeHost) ListenChanges(p instance.Place, addresses []netip.Addr, report func(Claim) bool) func() {
	last := map[netip.Addr]string{}
	return h.Listen(p, addresses, func(c Claim) {
		if last[c.Address] != c.MAC && report(c) {
			last[c.Address] = c.MAC
		}
	})
}

func (h *fakeHost) say(ctx context.Context, c Claim) {
	select {
	case h.claims <- c:
	case <-ctx.Done():
	}
}

// Probe makes whoever owns an address answer.
func (h *fakeHost) Probe(_ instance.Place, addresses []netip.Addr) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.probed = append(h.probed, addresses...)
	for _, a := range addresses {
		if mac, ok := h.owners[a]; ok {
			go func() { h.claims <- Claim{Address: a, MAC: mac, Answer: a.Is4()} }()
		}
	}
	return nil
}

// Overhear returns what was put into routers, and waits for the end where that is nothing.
func (h *fakeHost) Overhear(ctx context.Context, _ instance.Place, _ netip.Addr, mac string) *instance.Router {
	h.mu.Lock()
	r, ok := h.routers[mac]
	h.mu.Unlock()
	if !ok {
		<-ctx.Done()
		return nil
	}
	return &r
}

func (h *fakeHost) findPlace() (instance.Place, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.place, h.err
}

func (h *fakeHost) Bound(addresses []netip.Prefix) []Binding {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(h.bound), func(b Binding) bool {
		return !slices.ContainsFunc(addresses, func(p netip.Prefix) bool { return p.Addr() == b.Prefix.Addr() })
	})
}

func (h *fakeHost) Usable([]netip.Addr, time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.did = append(h.did, "usable")
}

func (h *fakeHost) Connections([]netip.Addr) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.uncounted != nil {
		return 0, h.uncounted
	}
	return h.open, nil
}

// Forward makes a forwarding whose steps are printed.
func (h *fakeHost) Forward(_ instance.Place, addresses []netip.Addr, spread []fence.Port, to netip.Addr, first time.Duration) (Forwarding, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	did := fmt.Sprintf("forward %d to %s", len(addresses), to)
	for _, p := range spread {
		did += fmt.Sprintf(" but %d", p.Number)
	}
	h.did = append(h.did, did)
	return fakeForwarding{h}, nil
}

func (h *fakeHost) ForgetEnded(addresses []netip.Addr) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forgotten = append(h.forgotten, addresses...)
	return nil
}

type fakeForwarding struct{ host *fakeHost }

func (s fakeForwarding) Keep(time.Duration) error { return nil }

func (s fakeForwarding) Close() error {
	s.host.mu.Lock()
	defer s.host.mu.Unlock()
	s.host.did = append(s.host.did, "forward no more")
	return nil
}

func (h *fakeHost) Bind(index int, addresses []netip.Prefix, valid time.Duration) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fail != nil {
		return h.fail
	}
	h.valid = valid
	for _, p := range addresses {
		h.did = append(h.did, fmt.Sprintf("add %s %d", p, index))
		if !slices.ContainsFunc(h.bound, func(b Binding) bool { // one of IPv6 keeps its length
			return b.Index == index && (b.Prefix == p || p.Addr().Is6() && b.Prefix.Addr() == p.Addr())
		}) {
			h.bound = append(h.bound, Binding{index, p})
		}
	}
	return nil
}

func (h *fakeHost) Unbind(index int, addresses []netip.Prefix) error {
	h.mu.Lock()
	slow, stays := h.slow, h.stays
	h.cleared = append(h.cleared, index)
	h.mu.Unlock()
	time.Sleep(slow)
	if stays != nil {
		return stays
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range addresses {
		if i := slices.Index(h.bound, Binding{index, p}); i >= 0 {
			h.did = append(h.did, fmt.Sprintf("del %s %d", p, index))
			h.bound = slices.Delete(h.bound, i, i+1)
		}
	}
	return nil
}

func (h *fakeHost) Announce(p instance.Place, addresses []netip.Addr) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	by := ""
	if p.Bearer.Index != 0 {
		by = " by " + p.Name
	}
	h.did = append(h.did, fmt.Sprintf("announce %d%s", len(addresses), by))
	if h.announcing == nil {
		return nil
	}
	return h.announcing()
}

// take returns what was done since the last call.
func (h *fakeHost) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	did := h.did
	h.did = nil
	return did
}

func (h *fakeHost) set(change func(*fakeHost)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change(h)
}

// fakeElector does what the test says.
type fakeElector struct {
	decisions chan election.Decision
	answers   chan error
	ended     chan struct{}
	cause     error // of the end; not before ended

	mu     sync.Mutex // guards what follows
	status election.Status
	lapsed bool          // the lease is over
	lease  time.Duration // what is left of it; 0 is an hour
}

func newFakeElector() *fakeElector {
	return &fakeElector{
		decisions: make(chan election.Decision), answers: make(chan error), ended: make(chan struct{}),
		status: election.Status{State: election.Initialize},
	}
}

func (e *fakeElector) Run(ctx context.Context, apply func(election.Decision) error) error {
	defer close(e.ended)
	role := election.Off
	for {
		select {
		case <-ctx.Done():
			e.cause = context.Cause(ctx)
			if role == election.Serve {
				return apply(election.Decision{Role: election.Off, Reason: "shut down"})
			}
			return nil
		case d := <-e.decisions:
			role = d.Role
			e.answers <- apply(d)
		}
	}
}

func (e *fakeElector) SetProbe(func(context.Context) election.Fitness) {}

func (e *fakeElector) SetFitness(f election.Fitness) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status.Fitness = f
}

func (e *fakeElector) Status() election.Status {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.status
}

func (e *fakeElector) LeaseEnd() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lapsed {
		return time.Now()
	}
	return time.Now().Add(cmp.Or(e.lease, time.Hour))
}

// setLapsed ends the lease, or goes on with it.
func (e *fakeElector) setLapsed(lapsed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lapsed = lapsed
}

func (e *fakeElector) fitness() election.Fitness { return e.Status().Fitness }

// decide decides, and waits until that has been carried out.
func (e *fakeElector) decide(role election.Role, holder netip.Addr) error {
	return e.tell(election.Decision{Role: role, Reason: "decided", Holder: holder})
}

// hearRival is a rival of a node that serves.
func (e *fakeElector) hearRival() error {
	return e.tell(election.Decision{Role: election.Serve, Reason: "decided", Holder: nodeA, Rival: true, Again: 50 * time.Millisecond})
}

// tell makes any decision.
func (e *fakeElector) tell(d election.Decision) error {
	e.decisions <- d
	return <-e.answers
}

// announcing is due at once, after a second for each repeat, and then once a minute.
func announcing(repeats int) *arp.Schedule {
	burst := make([]time.Duration, 1+repeats)
	for i := range burst {
		burst[i] = time.Duration(i) * time.Second
	}
	return arp.NewSchedule(burst, time.Minute, 0)
}

// entry is an instance of a test, and its addresses.
type entry struct {
	Name string
	Part
	Elect  func(instance.Place) (election.Elector, func(), error)
	Adjust func(election.Elector, instance.Place)
}

// bench is a set with one instance, whose addresses are on a fake host.
type bench struct {
	*instance.Set
	log      syncBuffer
	host     *fakeHost
	electors chan *fakeElector
	cancel   context.CancelFunc
	done     chan struct{}
}

func (b *bench) instance(change func(*entry)) instance.Config {
	e := entry{
		Name: "apiserver", Part: Part{Addresses: []netip.Prefix{vip4, vip6}, Schedule: announcing(0), VRID: 51},
		Elect: func(instance.Place) (election.Elector, func(), error) {
			e := newFakeElector()
			b.electors <- e
			return e, func() {}, nil
		},
	}
	if change != nil {
		change(&e)
	}
	return instance.Config{
		VIP:   config.VIP{Name: e.Name, Addresses: e.Addresses, Election: config.ElectionVRRP, VRRP: config.VRRP{ID: e.VRID}},
		Lease: e.Lease, Place: b.host.findPlace, Maker: &maker{e, b},
	}
}

// maker makes the parts of an entry.
type maker struct {
	entry
	bench *bench
}

func (m *maker) Elect(_ *instance.Config, p instance.Place) (election.Elector, func(), error) {
	return m.entry.Elect(p)
}

func (m *maker) Serve(_ *instance.Config, blocked func(election.Fitness)) instance.Service {
	return &reconfigured{newService(nil, m.Part, m.bench.host, m.bench.logger(), blocked)}
}

// reconfigured is a service that takes over what the newest entry has.
type reconfigured struct{ *service }

func (s *reconfigured) Reconfigure(next *instance.Config) {
	s.service.Reconfigure(next.Maker.(*maker).Part)
}

// Adjust implements instance.Adjuster.
func (e *fakeElector) Adjust(next *instance.Config, p instance.Place) {
	if adjust := next.Maker.(*maker).Adjust; adjust != nil {
		adjust(e, p)
	}
}

func (b *bench) logger() *slog.Logger { return slog.New(slog.NewTextHandler(&b.log, nil)) }

// run starts a set in a bubble and stops it when the test ends.
func run(t *testing.T, prepare func(*fakeHost), change func(*entry), test func(t *testing.T, b *bench)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		b := &bench{host: newFakeHost(), electors: make(chan *fakeElector, 10), done: make(chan struct{})}
		if prepare != nil {
			prepare(b.host)
		}
		b.Set = instance.New(b.logger())
		ctx, cancel := context.WithCancel(t.Context())
		b.cancel = cancel
		b.Apply(instance.Delta{Add: []instance.Config{b.instance(change)}})
		go func() { defer close(b.done); b.Run(ctx) }()
		synctest.Wait()
		test(t, b)
		cancel()
		<-b.done
	})
}

var errFull = errors.New("no space left")

// syncBuffer is a log that may be read while it is written.
type syncBuffer struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
