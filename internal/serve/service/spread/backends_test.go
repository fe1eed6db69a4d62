package spread

import (
	"context"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/check/health"
	"github.com/keepvip/keepvip/internal/config"
)

// asked are backends whose health a test says.
type asked map[byte]chan health.Verdict

func (a asked) backend(n byte, weight uint8) *Backend {
	a[n] = make(chan health.Verdict)
	return &Backend{
		ID: strconv.Itoa(int(n)), Backend: config.Backend{Addresses: []netip.Addr{addr(n)}, Weight: weight, Port: uint16(n)},
		Watch: func(ctx context.Context, report func(health.Verdict)) {
			for {
				select {
				case h := <-a[n]:
					report(h)
				case <-ctx.Done():
					return
				}
			}
		},
	}
}

func TestBackendsAreServedByTheirHealth(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := asked{}
		cfg := masquerading()
		cfg.backends = []*Backend{a.backend(21, 1), a.backend(22, 1), a.backend(23, 0)}
		b := newBench(t, cfg)
		b.begin()
		time.Sleep(settle)
		assert.Empty(t, b.service.Status().Spread.Problem, "nobody knows yet")
		for n := range a {
			b.host.set(addr(n), true)
			a[n] <- health.Verdict{State: health.Healthy}
		}
		time.Sleep(tick)
		assert.Equal(t, map[string]int{"10.77.0.21 fit": 60, "10.77.0.22 fit": 60, "10.77.0.23 fit": 0}, b.shares())
		p := b.host.plane("api")
		assert.Equal(t, []netip.Addr{addr(11)}, p.cfg.Members[0].Sources)
		assert.Equal(t, uint16(21), p.cfg.Members[0].Target)
		assert.Nil(t, b.elector.own(), "there are no members to tell")
		assert.Zero(t, b.host.questions())

		a[22] <- health.Verdict{State: health.Unhealthy, Reason: "503"}
		time.Sleep(2 * time.Second)
		assert.Equal(t, map[string]int{"10.77.0.21 fit": 120, "10.77.0.22 keeps": 0, "10.77.0.23 fit": 0}, b.shares())
		assert.Equal(t, "503", b.service.Status().Spread.Tables[0].Shares[1].Why)
		assert.Positive(t, b.host.questions())
		assert.Equal(t, [][]netip.Addr{nil}, b.host.plane("api").ended)

		b.host.set(addr(22), false)
		time.Sleep(2 * time.Second)
		assert.Equal(t, map[string]int{"10.77.0.21 fit": 120, "10.77.0.22 dead": 0, "10.77.0.23 fit": 0}, b.shares())
		assert.Equal(t, [][]netip.Addr{nil, {addr(22)}}, b.host.plane("api").ended)

		a[21] <- health.Verdict{State: health.Unhealthy, Reason: "refused"}
		time.Sleep(tick)
		assert.Equal(t, errNoBackend.Error(), b.service.Status().Spread.Problem)
		a[22] <- health.Verdict{State: health.Healthy}
		time.Sleep(tick)
		assert.Equal(t, map[string]int{"10.77.0.21 keeps": 0, "10.77.0.22 fit": 120, "10.77.0.23 fit": 0}, b.shares())
		assert.Empty(t, b.service.Status().Spread.Problem)
	})
}

// What a node has said of itself as a member would stay with the others as it was: that it is fit, and who its clients are.
func TestNodeWhoseReloadHasBackendsSpreadsNoMore(t *testing.T) {
	inBubble(t, masquerading(), func(t *testing.T, b *bench) {
		b.member(12, true)
		b.begin()
		time.Sleep(settle)
		assert.NotNil(t, b.elector.own())
		next := masquerading()
		next.backends = []*Backend{{ID: "21", Backend: config.Backend{Addresses: []netip.Addr{addr(21)}, Weight: 1}}}
		b.reconfigure(next)
		time.Sleep(tick)
		assert.Equal(t, map[string]int{"10.77.0.21 fit": 120}, b.shares())
		assert.Nil(t, b.elector.own())
		b.reconfigure(masquerading())
		time.Sleep(tick)
		assert.NotNil(t, b.elector.own())
	})
}

// What this host lacks, as a link or file descriptors, says nothing of a backend. The connections to it are ended when its host was asked, and has not
// answered.
func TestBackendIsNotDeadWhileThisHostCannotAsk(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := asked{}
		cfg := masquerading()
		cfg.backends = []*Backend{a.backend(21, 1), a.backend(22, 1)}
		b := newBench(t, cfg)
		b.begin()
		time.Sleep(settle)
		b.host.set(addr(22), true)
		a[21] <- health.Verdict{State: health.Healthy}
		b.onHost(func(h *fakeHost) { h.down = assert.AnError })
		a[22] <- health.Verdict{State: health.Unhealthy, Reason: "timeout"}
		time.Sleep(2*reachLimit - tick)
		assert.Equal(t, map[string]int{"10.77.0.21 fit": 120, "10.77.0.22 keeps": 0}, b.shares())
		assert.LessOrEqual(t, b.host.questions(), 2)
		b.onHost(func(h *fakeHost) { h.down = nil })
		time.Sleep(2 * time.Second)
		assert.Equal(t, map[string]int{"10.77.0.21 fit": 120, "10.77.0.22 keeps": 0}, b.shares())
		b.onHost(func(h *fakeHost) { h.down = assert.AnError })
		time.Sleep(askLater + 4*reachLimit)
		assert.Equal(t, map[string]int{"10.77.0.21 fit": 120, "10.77.0.22 keeps": 0}, b.shares())
		b.onHost(func(h *fakeHost) { h.down, h.there[addr(22)] = nil, false })
		time.Sleep(4 * reachLimit)
		assert.Equal(t, map[string]int{"10.77.0.21 fit": 120, "10.77.0.22 dead": 0}, b.shares())
	})
}

func TestBackendsThatStayGoOnOverAReload(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := asked{}
		cfg := masquerading()
		cfg.backends = []*Backend{a.backend(21, 1), a.backend(22, 1)}
		b := newBench(t, cfg)
		b.begin()
		time.Sleep(settle)
		a[21] <- health.Verdict{State: health.Healthy}
		a[22] <- health.Verdict{State: health.Healthy}
		next := cfg
		next.backends = []*Backend{cfg.backends[0], {ID: "new", Backend: config.Backend{Addresses: []netip.Addr{addr(24)}, Weight: 1}}}
		b.reconfigure(next)
		time.Sleep(tick)
		assert.Equal(t, map[string]int{"10.77.0.21 fit": 60, "10.77.0.24 fit": 60}, b.shares(), "what is not asked is good")
	})
}

// Another check, or another weight, of a backend that stays is no reason to give it no connections until it has been asked again.
func TestBackendsThatAreAskedOtherwiseStayWhatTheyAre(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := asked{}
		cfg := masquerading()
		cfg.backends = []*Backend{a.backend(21, 1), a.backend(22, 1), a.backend(23, 1)}
		b := newBench(t, cfg)
		b.begin()
		time.Sleep(settle)
		a[21] <- health.Verdict{State: health.Healthy}
		a[22] <- health.Verdict{State: health.Healthy}
		a[23] <- health.Verdict{State: health.Unhealthy, Reason: "503"}
		b.host.set(addr(23), false)
		time.Sleep(2 * time.Second)
		before := map[string]int{"10.77.0.21 fit": 60, "10.77.0.22 fit": 60, "10.77.0.23 dead": 0}
		assert.Equal(t, before, b.shares())
		next, otherwise := cfg, asked{}
		next.backends = nil
		for n := byte(21); n <= 23; n++ {
			one := otherwise.backend(n, 1)
			one.ID = "asked otherwise " + one.ID
			next.backends = append(next.backends, one)
		}
		b.reconfigure(next)
		time.Sleep(tick)
		assert.Equal(t, before, b.shares())
		otherwise[22] <- health.Verdict{State: health.Unhealthy, Reason: "404"}
		otherwise[23] <- health.Verdict{State: health.Healthy}
		time.Sleep(tick)
		assert.Equal(t, map[string]int{"10.77.0.21 fit": 60, "10.77.0.22 keeps": 0, "10.77.0.23 fit": 60}, b.shares())
	})
}
