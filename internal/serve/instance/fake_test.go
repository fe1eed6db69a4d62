package instance

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/check/health"
	"github.com/keepvip/keepvip/internal/config"
)

var (
	vip   = netip.MustParsePrefix("10.77.0.100/32")
	nodeA = netip.MustParseAddr("10.77.0.11")
	nodeB = netip.MustParseAddr("10.77.0.12")
)

const eth0 = 2

// fakeService prints what is asked of it.
type fakeService struct {
	blocked func(election.Fitness)
	stuck   chan struct{} // HostChanged returns when it is closed; nil: at once

	mu       sync.Mutex // guards what follows
	did      []string
	fail     error // of Apply
	until    time.Time
	status   ServiceStatus
	draining bool
	judged   int
	closing  time.Duration // Close takes so long

	reconfigured func(s *fakeService) // nil: nothing is done
}

var (
	_ Service   = (*fakeService)(nil)
	_ Announcer = (*fakeService)(nil)
	_ Drainer   = (*fakeService)(nil)
	_ Judged    = (*fakeService)(nil)

	_ Reconfigurer = (*fakeService)(nil)
)

func (s *fakeService) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.did = append(s.did, what)
}

func (s *fakeService) set(change func(*fakeService)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// take returns what was asked since the last call.
func (s *fakeService) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	did := s.did
	s.did = nil
	return did
}

func (s *fakeService) Begin(t Term)          { s.note(fmt.Sprint("begin ", t.Place.Index)) }
func (s *fakeService) End()                  { s.note("end") }
func (s *fakeService) Announce() error       { s.note("announce"); return nil }
func (s *fakeService) Drain(until time.Time) { s.set(func(s *fakeService) { s.until = until }) }

func (s *fakeService) Close() error {
	s.mu.Lock()
	closing := s.closing
	s.mu.Unlock()
	time.Sleep(closing) // of the bubble's time
	s.note("close")
	return nil
}

func (s *fakeService) Reconfigure(*Config) {
	if s.reconfigured != nil {
		s.reconfigured(s)
	}
}

func (s *fakeService) Judged() { s.set(func(s *fakeService) { s.judged++ }) }

func (s *fakeService) HostChanged(p Place) {
	s.note("host changed " + p.Name)
	s.mu.Lock()
	stuck := s.stuck
	s.mu.Unlock()
	if stuck != nil {
		<-stuck
	}
}

func (s *fakeService) Apply(_ context.Context, d election.Decision) error {
	s.note([]string{"off", "standby", "quiet", "serve"}[d.Role])
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fail
}

func (s *fakeService) Status() ServiceStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

func (s *fakeService) Draining() (bool, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining, 0
}

// fakeElector does what the test says.
type fakeElector struct {
	decisions chan election.Decision
	answers   chan error
	ended     chan struct{}

	mu     sync.Mutex // guards what follows
	status election.Status
	lease  time.Duration // what is left of it; 0 is an hour
	apart  election.Unreached
}

var _ election.Visitor = (*fakeElector)(nil)

func (e *fakeElector) SetUnreached(u election.Unreached) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.apart = u
}

// told is what SetUnreached was told last.
func (e *fakeElector) told() election.Unreached {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.apart
}

func newFakeElector() *fakeElector {
	return &fakeElector{decisions: make(chan election.Decision), answers: make(chan error), ended: make(chan struct{})}
}

func (e *fakeElector) Run(ctx context.Context, apply func(election.Decision) error) error {
	defer close(e.ended)
	for {
		select {
		case <-ctx.Done():
			return apply(election.Decision{Role: election.Off, Reason: "shut down"})
		case d := <-e.decisions:
			e.answers <- apply(d)
		}
	}
}

func (e *fakeElector) SetProbe(func(context.Context) election.Fitness) {}

func (e *fakeElector) SetFitness(f election.Fitness) {
	e.set(func(s *election.Status) { s.Fitness = f })
}

func (e *fakeElector) LeaseEnd() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return time.Now().Add(cmp.Or(e.lease, time.Hour))
}

func (e *fakeElector) setLease(left time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lease = left
}

func (e *fakeElector) Status() election.Status {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.status
}

func (e *fakeElector) set(change func(*election.Status)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status.Members = slices.Clone(e.status.Members) // those who have asked read theirs
	change(&e.status)
}

func (e *fakeElector) fitness() election.Fitness { return e.Status().Fitness }

// decide decides, and waits until that has been carried out.
func (e *fakeElector) decide(role election.Role, holder netip.Addr) error {
	return e.tell(election.Decision{Role: role, Reason: "decided", Holder: holder})
}

// tell makes any decision.
func (e *fakeElector) tell(d election.Decision) error {
	e.decisions <- d
	return <-e.answers
}

// fakePlace is where the instance belongs.
type fakePlace struct {
	mu    sync.Mutex // guards what follows
	place Place
	err   error
}

func (p *fakePlace) find() (Place, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.place, p.err
}

func (p *fakePlace) set(change func(*fakePlace)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

// parts makes what the test says.
type parts struct {
	elect func(Place) (election.Elector, func(), error)
	serve func(blocked func(election.Fitness)) Service
}

func (p *parts) Elect(_ *Config, at Place) (election.Elector, func(), error) { return p.elect(at) }

func (p *parts) Serve(_ *Config, blocked func(election.Fitness)) Service { return p.serve(blocked) }

// partsOf are what makes the parts of in.
func partsOf(in *Config) *parts { return in.Maker.(*parts) }

// external makes the addresses of in somebody else's, at lb.
func external(in *Config, lb string, talk func() (election.Elector, func(), error)) {
	in.VIP.Mode, in.VIP.ExternalAddress = config.ModeExternal, lb
	in.Place = func() (Place, error) { return Place{}, nil }
	partsOf(in).elect = func(Place) (election.Elector, func(), error) {
		if talk == nil {
			return nil, nil, nil
		}
		return talk()
	}
}

// bench is a set with one instance.
type bench struct {
	*Set
	log      syncBuffer
	place    *fakePlace
	services chan *fakeService
	electors chan *fakeElector
	verdicts chan health.Verdict
	cancel   context.CancelFunc
	done     chan struct{}
}

func (b *bench) instance(change func(*Config)) Config {
	in := Config{
		VIP:   config.VIP{Name: "apiserver", Addresses: []netip.Prefix{vip}, Election: config.ElectionVRRP, VRRP: config.VRRP{ID: 51}},
		Place: b.place.find,
		Maker: &parts{
			elect: func(Place) (election.Elector, func(), error) {
				e := newFakeElector()
				b.electors <- e
				return e, func() {}, nil
			},
			serve: func(blocked func(election.Fitness)) Service {
				s := &fakeService{blocked: blocked}
				b.services <- s
				return s
			},
		},
	}
	if change != nil {
		change(&in)
	}
	for i := range in.Checks {
		if in.Checks[i].Run == nil {
			in.Checks[i].Run = b.check
		}
		if in.Checks[i].Verdict == nil {
			in.Checks[i].Verdict = func() health.Verdict { return health.Verdict{} }
		}
	}
	return in
}

// check is a Check.Run that reports what the test says.
func (b *bench) check(ctx context.Context, report func(health.Verdict)) {
	for {
		select {
		case <-ctx.Done():
			return
		case v := <-b.verdicts:
			report(v)
		}
	}
}

// run starts a set in a bubble and stops it when the test ends.
func run(t *testing.T, prepare func(*fakePlace), change func(*Config), test func(t *testing.T, b *bench)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		b := &bench{
			place: &fakePlace{place: Place{Index: eth0, Name: "eth0", Source: nodeA}}, services: make(chan *fakeService, 100),
			electors: make(chan *fakeElector, 10), verdicts: make(chan health.Verdict), done: make(chan struct{}),
		}
		if prepare != nil {
			prepare(b.place)
		}
		b.Set = New(slog.New(slog.NewTextHandler(&b.log, nil)))
		ctx, cancel := context.WithCancel(t.Context())
		b.cancel = cancel
		b.Apply(Delta{Add: []Config{b.instance(change)}})
		go func() { defer close(b.done); b.Run(ctx) }()
		synctest.Wait()
		test(t, b)
		cancel()
		<-b.done
	})
}

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
