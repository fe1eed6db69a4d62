package route

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/hostroute"
	"github.com/keepvip/keepvip/internal/kernel/intercept"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// fake is a host that notes what is done to it.
type fake struct {
	mu        sync.Mutex // guards what follows
	did       []string
	own       []netip.Addr
	tun       error
	deleted   bool // the newest device
	remade    int  // how many have followed the first one
	missing   []netip.Addr
	marks     []bool // of the route, as it was put
	refused   error
	tries     int   // to put a route
	stuck     error // why a route cannot be removed
	opened    int   // connections to the routing tables
	clients   []intercept.Client
	uncounted error  // why they cannot be listed
	port      uint16 // of the newest
}

func (f *fake) do(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.did = append(f.did, fmt.Sprintf(format, args...))
}

// set changes something while the service runs.
func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// arrives has one client, which was not there before.
func (f *fake) arrives() {
	f.set(func() {
		f.port++
		f.clients = []intercept.Client{{At: netip.AddrPortFrom(netip.MustParseAddr("10.97.0.2"), f.port), Open: true}}
	})
}

// said is what was done so far.
func (f *fake) said() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.did)
}

func (f *fake) last() string {
	did := f.said()
	return did[len(did)-1]
}

func (f *fake) Own(instance.Place, []netip.Addr) []netip.Addr { return f.own }

// OwnAddresses has one more: a program may connect from it to an address that is bound nowhere.
func (f *fake) OwnAddresses() []netip.Addr { return append([]netip.Addr{otherOwn}, f.own...) }

func (f *fake) OpenTranslation(string) (Translation, error) { return f, nil }

func (f *fake) OpenRoutes() (Routes, error) {
	f.set(func() { f.opened++ })
	return fakeRoutes{f}, nil
}

// fakeRoutes is a connection to the routing tables of a fake.
type fakeRoutes struct{ *fake }

func (f fakeRoutes) Put(_ hostroute.Table, index int, _ []netip.Addr, mark bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tries++
	switch {
	case f.refused != nil:
		return f.refused
	case index >= firstDevice && (f.deleted || index != firstDevice+f.remade):
		return unix.ENODEV
	case len(f.marks) > 0 && f.missing == nil:
		f.marks = append(f.marks, mark) // once more
	default:
		f.did, f.marks, f.missing = append(f.did, fmt.Sprintf("route by %d", index)), []bool{mark}, nil
	}
	return nil
}

func (f fakeRoutes) Close() { f.set(func() { f.opened-- }) }

func (f fakeRoutes) Remove(hostroute.Table, []netip.Addr) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stuck != nil {
		return f.stuck
	}
	f.did, f.marks = append(f.did, "no route"), nil
	return nil
}

func (f fakeRoutes) Missing(hostroute.Table, int, []netip.Addr) ([]netip.Addr, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.missing, nil
}

// firstDevice is the index of the first one.
const firstDevice = 7

func (f *fake) Use() (int, error) { return f.Mend() }

func (f *fake) Mend() (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.deleted {
		f.deleted, f.remade = false, f.remade+1
	}
	return firstDevice + f.remade, f.tun
}

func (f *fake) Release() { f.do("no device") }

func (f *fake) Apply(c intercept.Config) error {
	if len(c.Targets[0].Backends) > 0 {
		f.do("to %s", c.Targets[0].Backends[0].At.Addr())
	} else {
		f.do("to the network")
	}
	return nil
}

func (f *fake) Renew(time.Duration) error { return nil }

func (f *fake) Clients() ([]intercept.Client, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.clients), f.uncounted
}

func (f *fake) Close() error {
	f.do("no translation")
	return nil
}

var (
	vip      = netip.MustParseAddr("10.99.0.100")
	otherOwn = netip.MustParseAddr("10.98.0.1")
)

func newFake() *fake { return &fake{own: []netip.Addr{netip.MustParseAddr("10.77.0.11")}} }

// entry is served by a route alone, whether its load is spread or not.
func entry(v config.VIP) config.VIP {
	v.Name, v.Election, v.Addresses = "api", config.ElectionLocal, []netip.Prefix{netip.PrefixFrom(vip, vip.BitLen())}
	v.Spread.Ports = []config.SpreadPort{{Port: 6443, Target: 6443, Protocol: config.ProtocolTCP}}
	return v
}

func begin(f *fake, ready instance.Readiness) *Service {
	s := New(entry(config.VIP{Spread: config.Spread{Via: config.ViaOff}}), f, slog.New(slog.DiscardHandler))
	s.Begin(instance.Term{Ready: func() instance.Readiness { return ready }})
	return s
}

func apply(t *testing.T, s *Service, r election.Role) {
	t.Helper()
	require.NoError(t, s.Apply(t.Context(), election.Decision{Role: r}))
	synctest.Wait()
}

func TestRouteComesLastAndGoesFirst(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFake()
		s := begin(f, instance.Readiness{Open: true}) // not fit: the check fails
		apply(t, s, election.Serve)
		apply(t, s, election.Serve)
		apply(t, s, election.Standby)
		apply(t, s, election.Standby)
		assert.Equal(t, []string{"to 10.77.0.11", "route by 7", "no route", "to the network"}, f.said())
		require.NoError(t, s.Close())
		assert.Equal(t, []string{"no device", "no translation"}, f.said()[4:])
	})
}

// TestNewConnectionsAreServedUntilRoutersKnow of a node whose programs are well.
func TestNewConnectionsAreServedUntilRoutersKnow(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFake()
		s := begin(f, instance.Readiness{Open: false}) // an operator has taken it out
		apply(t, s, election.Serve)
		apply(t, s, election.Standby)
		assert.Equal(t, "no route", f.last())
		time.Sleep(settle - time.Millisecond)
		synctest.Wait()
		assert.Equal(t, "no route", f.last())
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		assert.Equal(t, "to the network", f.last())

		apply(t, s, election.Serve)
		before := time.Now()
		require.NoError(t, s.Close())
		assert.Equal(t, settle, time.Since(before), "the end of the process waits, too")
	})
}

// TestNewConnectionsAreServedWhileRoutersSendThem, on a drain for as long as somebody waits, and at the end of the process for some seconds.
func TestNewConnectionsAreServedWhileRoutersSendThem(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFake()
		s := begin(f, instance.Readiness{Open: false})
		for drain, most := range map[time.Duration]time.Duration{0: mostSettle, time.Minute: time.Minute} {
			apply(t, s, election.Serve)
			if drain > 0 {
				s.Drain(time.Now().Add(drain))
			}
			apply(t, s, election.Standby)
			for range 20 { // four seconds, in which a router has not heard of it
				f.arrives()
				time.Sleep(countEvery)
				synctest.Wait()
				require.Equal(t, "no route", f.last())
				busy, _ := s.Draining()
				require.Equal(t, drain > 0, busy, "an operator waits for that, too")
			}
			time.Sleep(settle + countEvery)
			synctest.Wait()
			assert.Equal(t, "to the network", f.last(), "it has heard of it")

			apply(t, s, election.Serve)
			apply(t, s, election.Standby)
			began := time.Now()
			for f.last() != "to the network" {
				require.LessOrEqual(t, time.Since(began), most+countEvery)
				f.arrives()
				time.Sleep(countEvery)
				synctest.Wait()
			}
			s.Drain(time.Time{})
		}
		apply(t, s, election.Serve)
		began := time.Now()
		require.NoError(t, s.Close())
		assert.Equal(t, settle, time.Since(began))
	})
}

// TestTablesOfOthersStayUntilRoutersKnow: who closes the service closes them afterwards. Nothing is translated here.
func TestTablesOfOthersStayUntilRoutersKnow(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFake()
		s := New(entry(config.VIP{Spread: config.Spread{Via: config.ViaDirect}}), f, slog.New(slog.DiscardHandler))
		s.Begin(instance.Term{Ready: func() instance.Readiness { return instance.Readiness{Fit: true, Open: true} }})
		apply(t, s, election.Serve)
		apply(t, s, election.Standby)
		time.Sleep(2 * settle)
		apply(t, s, election.Serve)
		before := time.Now()
		require.NoError(t, s.Close())
		assert.Equal(t, settle, time.Since(before))
		assert.Equal(t, []string{"route by 7", "no route", "route by 7", "no route", "no device"}, f.said())
	})
}

func TestRouteThatIsMissingIsPutBack(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFake()
		s := begin(f, instance.Readiness{})
		apply(t, s, election.Serve)
		f.set(func() { f.missing, f.deleted = []netip.Addr{vip}, true })
		time.Sleep(lookEvery + time.Millisecond)
		synctest.Wait()
		assert.Equal(t, "route by 8", f.last())
		assert.Equal(t, uint64(1), s.Status().Restored)
		require.NoError(t, s.Close())
	})
}

// TestRouteIsPutEachSecondByAChange for a routing daemon that has missed it, by one connection to the kernel.
func TestRouteIsPutEachSecondByAChange(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFake()
		s := begin(f, instance.Readiness{})
		apply(t, s, election.Serve)
		time.Sleep(4*lookEvery + time.Millisecond)
		synctest.Wait()
		f.set(func() {
			assert.Equal(t, []bool{true, false, true, false, true}, f.marks)
			assert.Equal(t, 1, f.opened)
		})
		assert.Zero(t, s.Status().Restored)
		apply(t, s, election.Standby)
		time.Sleep(2 * lookEvery)
		synctest.Wait()
		assert.NotContains(t, f.last(), "route by", "a node that does not serve puts none")
		require.NoError(t, s.Close())
		assert.Zero(t, f.opened)
	})
}

// TestConnectionIsOpenedAnewAfterAnError of the kernel.
func TestConnectionIsOpenedAnewAfterAnError(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFake()
		f.refused = errors.New("no buffer space available")
		s := begin(f, instance.Readiness{})
		require.ErrorIs(t, s.Apply(t.Context(), election.Decision{Role: election.Serve}), f.refused)
		f.set(func() { f.refused = nil })
		apply(t, s, election.Serve)
		f.set(func() { assert.Equal(t, 1, f.opened) })
		require.NoError(t, s.Close())
	})
}

func TestRouteWithoutTunDeviceIsSaid(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFake()
		f.tun = errors.New("open /dev/net/tun: no such file or directory")
		s := begin(f, instance.Readiness{})
		assert.True(t, s.Status().Fence.Standing)
		apply(t, s, election.Serve)
		assert.Equal(t, "route by 1", f.said()[1], "the loopback device")
		assert.Equal(t, code.RouteOutlives, s.Status().Fence.Code)
		require.NoError(t, s.Close())
	})
}

func TestNoRouteWithoutAnOwnAddress(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFake()
		f.own = []netip.Addr{netip.MustParseAddr("fd77::11")}
		s := begin(f, instance.Readiness{})
		err := s.Apply(t.Context(), election.Decision{Role: election.Serve})
		assert.Equal(t, code.NoTranslation, code.Of(err))
		assert.Empty(t, f.said())
		require.NoError(t, s.Close())
	})
}

// TestRouteThatTheKernelKeepsIsRemovedLater: routers send to this node for as long as it is there.
func TestRouteThatTheKernelKeepsIsRemovedLater(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFake()
		s := begin(f, instance.Readiness{Open: true})
		for _, how := range []func(){
			func() { time.Sleep(lookEvery + countEvery); synctest.Wait() },
			func() { apply(t, s, election.Standby) },
			func() { require.NoError(t, s.Close()) },
		} {
			apply(t, s, election.Serve)
			f.set(func() { f.stuck, f.did = errors.New("no buffer space available"), nil })
			for range 2 {
				require.ErrorIs(t, s.Apply(t.Context(), election.Decision{Role: election.Standby}), f.stuck)
			}
			assert.Equal(t, 1, s.Status().Routes.Present, "it is announced")
			f.set(func() { f.stuck = nil })
			how()
			assert.Contains(t, f.said(), "no route")
		}
	})
}
