package address

import (
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/kernel/fence"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

var apiserver = []fence.Port{{Protocol: 6, Number: 6443}}

// spread has a port spread whose translation lasts for so long after now, which the test may change.
func spread(in *entry, left *time.Duration) {
	in.Spread = &Spread{Ports: apiserver, Until: func() time.Time { return time.Now().Add(*left) }}
}

// TestSpreadPortsPassForAsLongAsTheyAreTranslated: whatever the role, and no longer if nobody goes on with it.
func TestSpreadPortsPassForAsLongAsTheyAreTranslated(t *testing.T) {
	kernel := &fakeFence{egress: true}
	left := 10 * time.Second
	passed := func(did []string) (n int) {
		for _, d := range did {
			if d == "spread for "+left.String() {
				n++
			}
		}
		return n
	}
	run(t, nil, func(in *entry) { refenced(kernel)(in); spread(in, &left) }, func(t *testing.T, b *bench) {
		e := <-b.electors
		for _, role := range []election.Role{election.Standby, election.Serve, election.Standby} {
			require.NoError(t, e.decide(role, nodeB))
			time.Sleep(10 * time.Second)
			synctest.Wait()
			assert.InDelta(t, 10, passed(kernel.take()), 1, "once a second")
		}
		at := time.Now().Add(left)
		b.Apply(instance.Delta{Adjust: []instance.Config{b.instance(func(in *entry) {
			refenced(kernel)(in)
			in.Spread = &Spread{Ports: apiserver, Until: func() time.Time { return at }}
		})}})
		time.Sleep(5 * time.Second)
		synctest.Wait()
		assert.LessOrEqual(t, passed(kernel.take()), 1, "nobody goes on with the translation")
	})
}

// TestReloadThatChangesSpreadPortsChangesTheFence without touching the address.
func TestReloadThatChangesSpreadPortsChangesTheFence(t *testing.T) {
	kernel, left := &fakeFence{egress: true}, 10*time.Second
	holder(t, kernel, func(t *testing.T, b *bench, _ *fakeElector) {
		b.host.take()
		reload := func(change func(*entry)) []string {
			b.Apply(instance.Delta{Adjust: []instance.Config{b.instance(func(in *entry) { refenced(kernel)(in); change(in) })}})
			synctest.Wait()
			return kernel.take()
		}
		assert.Equal(t, []string{"change to 290ms", "hold"}, reload(func(in *entry) { spread(in, &left) }))
		assert.Empty(t, reload(func(in *entry) { spread(in, &left) }))
		assert.Equal(t, []string{"change to 290ms", "hold"}, reload(func(in *entry) {
			spread(in, &left)
			in.Spread.Ports = append(slices.Clone(apiserver), fence.Port{Protocol: 6, Number: 5000, Ends: time.Now()})
		}), "a port that is not spread any more")
		assert.NotEmpty(t, reload(func(in *entry) { spread(in, &left) }))
		assert.Equal(t, []string{"change to 290ms", "hold"}, reload(func(*entry) {}))
	})
}

// TestTakerForwardsToTheFormerHolderOfSeveralThatDrain: another one waits for the end of what is spread.
func TestTakerForwardsToTheFormerHolderOfSeveralThatDrain(t *testing.T) {
	nodeC := netip.MustParseAddr("10.77.0.13")
	run(t, nil, nil, func(t *testing.T, b *bench) {
		e := <-b.electors
		e.mu.Lock()
		e.status.Members = []election.Member{{Address: nodeB, Draining: true}, {Address: nodeC, Draining: true}, {Address: nodeA, Self: true}}
		e.mu.Unlock()
		require.NoError(t, e.tell(election.Decision{Role: election.Serve, Granted: true, From: election.Node{Address: nodeC}}))
		assert.Contains(t, b.host.take(), "forward 2 to 10.77.0.13")
	})
}

// TestTakerDoesNotForwardWhatIsSpread: those connections are where their slots say, or the second chance.
func TestTakerDoesNotForwardWhatIsSpread(t *testing.T) {
	left := 10 * time.Second
	run(t, nil, func(in *entry) { spread(in, &left) }, func(t *testing.T, b *bench) {
		e := <-b.electors
		e.mu.Lock()
		e.status.Members = []election.Member{{Address: nodeA, Self: true}, {Address: nodeB, Draining: true}}
		e.mu.Unlock()
		require.NoError(t, e.tell(election.Decision{Role: election.Serve, Granted: true}))
		assert.Contains(t, b.host.take(), "forward 2 to 10.77.0.12 but 6443")
	})
}
