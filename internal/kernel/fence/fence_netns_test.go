//go:build netns

package fence

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/netnstest"
)

func TestFenceWithoutGuardIsInert(t *testing.T) {
	w := newWire(t)
	w.all(true, "no fence")
	f := w.fence(200*time.Millisecond, 60*time.Second)
	w.all(true, "a fence, but no guard")
	require.NoError(t, f.hold(4, 6))
	w.all(false, "a guard without a lease")
	require.NoError(t, f.release(4))
	require.NoError(t, f.release(6))
	w.all(true, "released")
}

func TestFenceLeaseFollowsTheAdvertisement(t *testing.T) {
	w := newWire(t)
	const lease = 200 * time.Millisecond
	f := w.fence(long, 2*long)
	require.True(t, f.egress())
	require.NoError(t, f.hold(4, 6))
	for round := range 2 {
		for id, vip := range map[uint32]netip.Addr{4: vip4, 6: vip6} {
			own := w.own4
			if vip.Is6() {
				own = w.own6
			}
			w.leases(f, long)
			for range 3 {
				w.advertise(own, 51, 100)
				require.True(t, w.does(w.answers, vip), "%s while advertising", vip)
				time.Sleep(lease / 4)
				at, before := time.Now(), w.left(f, id)
				w.advertise(own, 51, 100)
				now := w.left(f, id)
				require.Greater(t, now, before-time.Since(at)+lease/8, "%s: an advertisement renews", vip)
			}
			w.leases(f, lease)
			before := time.Now()
			w.advertise(own, 51, 100)
			after := time.Now()
			last := after
			for time.Since(after) < lease+lease/2 {
				at := time.Now()
				if w.ping(vip, 2*time.Millisecond) {
					last = at
				} else if w.left(f, id) > 0 {
					assert.True(t, w.does(w.answers, vip) || w.left(f, id) == 0, "%s: silent while the kernel has a lease", vip)
				}
			}
			t.Logf("round %d, %s: answered until %s after the last advertisement, the lease is %s", round, vip, last.Sub(before), lease)
			assert.Less(t, last.Sub(after), lease+100*time.Millisecond)
		}
	}
	w.all(false, "after the lease")
}

func TestFenceOnlyOurAdvertisementRenews(t *testing.T) {
	w := newWire(t)
	w.holder.Has("eth0", "10.1.0.6/24")
	f := w.fence(long, 2*long)
	require.NoError(t, f.hold(4, 6))
	other := netip.MustParseAddr("10.1.0.6")
	for name, advert := range map[string]func(){
		"priority 0":         func() { w.advertise(w.own4, 51, 0); w.advertise(w.own6, 51, 0) },
		"another VRID":       func() { w.advertise(w.own4, 52, 100); w.advertise(w.own6, 52, 100) },
		"another source":     func() { w.advertise(other, 51, 100) },
		"another family's":   func() {},
		"nothing renews yet": func() {},
	} {
		advert()
		w.all(false, name)
	}
	w.advertise(w.own4, 51, 1)
	assert.True(t, w.does(w.answers, vip4))
	assert.False(t, w.answers(vip6), "each family has its own")
	w.advertise(w.own6, 51, 255)
	w.all(true, "both")
}

func TestFenceOpensByItselfWhenTheGuardIsOver(t *testing.T) {
	w := newWire(t)
	f := w.fence(50*time.Millisecond, 2*long)
	require.NoError(t, f.hold(4, 6))
	require.NoError(t, f.shut(4, discovery|inward|outward))
	w.advertise(w.own4, 51, 100)
	assert.False(t, w.answers(vip4))
	assert.False(t, w.answers(vip6))
	groups := sorted(f.want.groups)
	for i := range groups {
		groups[i].Guard = 400 * time.Millisecond
	}
	require.NoError(t, f.set(groups))
	start := time.Now()
	require.NoError(t, f.hold(4, 6))
	for !w.ping(vip4, 5*time.Millisecond) {
		require.Less(t, time.Since(start), netnstest.Patience)
		w.advertise(w.own4, 51, 100) // renews the lease and not the guard: whoever runs VRRP here after us must not be locked out in turns
	}
	t.Logf("answers again %s after Shut, the guard is 400 ms", time.Since(start))
	w.holder.Eventually(func() bool { return w.answers(vip6) }, "IPv6 again")
	w.all(true, "after the guard")
	// The kernel counts from a moment before this process does.
	w.holder.Eventually(func() bool { return errors.Is(f.verify(), errBroken) }, "a guard that nobody went on with")
}

func TestFenceShutParts(t *testing.T) {
	w := newWire(t)
	f := w.fence(60*time.Second, 120*time.Second)
	require.NoError(t, f.hold(4, 6))
	w.advertiseBoth()
	w.all(true, "open")
	shut := func(p part) {
		require.NoError(t, f.shut(4, p))
		require.NoError(t, f.shut(6, p))
	}
	shut(discovery)
	for _, vip := range []netip.Addr{vip4, vip6} {
		assert.False(t, w.resolves(vip), "%s is silent", vip)
		assert.True(t, w.does(w.answers, vip), "%s still forwards", vip)
	}
	shut(inward)
	for _, vip := range []netip.Addr{vip4, vip6} {
		assert.False(t, w.answers(vip))
	}
	w.advertiseBoth()
	w.all(false, "an advertisement does not open what is shut")
	require.NoError(t, f.reopen(4))
	require.NoError(t, f.reopen(6))
	w.all(true, "reopened")
	shut(outward)
	for _, vip := range []netip.Addr{vip4, vip6} {
		assert.False(t, w.answers(vip))
		assert.False(t, w.resolves(vip))
	}
	require.NoError(t, f.release(4))
	require.NoError(t, f.hold(4))
	assert.True(t, w.does(w.answers, vip4), "the next Hold finds it open")
}

func TestFenceRenewByTransaction(t *testing.T) {
	w := newWire(t)
	f := w.fence(long, 2*long)
	require.NoError(t, f.hold(4))
	assert.False(t, w.answers(vip4))
	for range 3 {
		require.NoError(t, f.renew(4, time.Now().Add(2*long)))
		require.True(t, w.does(w.answers, vip4))
		time.Sleep(50 * time.Millisecond)
		at, before := time.Now(), w.left(f, 4)
		require.NoError(t, f.renew(4, time.Now().Add(2*long)))
		now := w.left(f, 4)
		require.Greater(t, now, before-time.Since(at)+25*time.Millisecond)
	}
	start := time.Now()
	if err := f.renew(4, start.Add(100*time.Millisecond+f.want.groups[4].spare())); err != nil {
		require.ErrorIs(t, err, errLate)
		require.GreaterOrEqual(t, time.Since(start), 100*time.Millisecond, "only this machine can have been late")
	}
	last := start
	for time.Since(start) < 250*time.Millisecond {
		if at := time.Now(); w.ping(vip4, 2*time.Millisecond) {
			last = at
		}
	}
	assert.Less(t, last.Sub(start), 150*time.Millisecond, "until is the end, and not the whole lease")
	w.over(f, 4)
	require.NoError(t, f.renew(4, time.Now().Add(time.Minute)))
	assert.True(t, w.does(w.answers, vip4))
	require.ErrorIs(t, f.renew(4, time.Now().Add(-time.Second)), errLate)
	assert.False(t, w.answers(vip4), "who is late has no lease")
	require.ErrorIs(t, f.renew(4, time.Now().Add(-time.Second)), errLate)
	assert.Error(t, f.renew(5, time.Now().Add(time.Second)), "no such group")
}
