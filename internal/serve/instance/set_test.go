package instance

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/check/health"
)

func TestNoPlaceIsWaitedForAndShown(t *testing.T) {
	down := func(h *fakePlace) { h.err = assert.AnError }
	run(t, down, nil, func(t *testing.T, b *bench) {
		s := b.Status()[0]
		assert.Equal(t, "initialize", s.State)
		assert.Equal(t, assert.AnError.Error(), s.Reason)
		assert.False(t, s.Eligible)
		require.Error(t, b.Ready())
		require.NoError(t, b.Live(), "waiting is living")
		b.place.set(func(h *fakePlace) { h.err = nil })
		b.HostChanged()
		<-b.electors
	})
}

func TestStatusSaysThatNoNodeCanTakeTheAddress(t *testing.T) {
	run(t, nil, nil, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Standby, netip.Addr{}))
		require.NoError(t, b.Ready())
		e.set(func(s *election.Status) {
			s.State, s.Present, s.Blocked = election.Backup, "NO QUORUM: 1 of 3 voters heard, want 2", "NO QUORUM: 1 of 3 voters heard, want 2"
		})
		s := b.Status()[0]
		assert.Equal(t, ObservedFault, s.Observed)
		assert.Equal(t, "NO QUORUM: 1 of 3 voters heard, want 2", s.Reason)
		require.ErrorContains(t, b.Ready(), "NO QUORUM: 1 of 3")
		require.NoError(t, b.Live())
		require.NoError(t, b.Hold(t.Context(), nil, "", true))
		require.NoError(t, b.Ready(), "this node is not to take it")
	})
}

func TestVerdictsReachTheElectorAlsoBeforeItsTermBegins(t *testing.T) {
	run(t, func(h *fakePlace) { h.err = assert.AnError }, func(in *Config) {
		in.Checks = []Check{{ID: "checked"}}
	}, func(t *testing.T, b *bench) {
		b.verdicts <- health.Verdict{State: health.Unhealthy, Reason: "500"}
		synctest.Wait()
		b.place.set(func(h *fakePlace) { h.err = nil })
		b.HostChanged()
		e := <-b.electors
		synctest.Wait()
		assert.Equal(t, "the health check fails: 500", e.fitness().Reason)
		b.verdicts <- health.Verdict{State: health.Healthy}
		synctest.Wait()
		assert.Equal(t, election.Fitness{}, e.fitness())
	})
}

func TestStatusAndMetricsShowWhatIsRejected(t *testing.T) {
	run(t, nil, nil, func(t *testing.T, b *bench) {
		e := <-b.electors
		remedied := func(from netip.Addr, age time.Duration) election.Rejection {
			return election.Rejection{
				Source: from, Reason: "hmac", Text: "wrong", Remedy: "another key", Count: 7, Last: time.Now().Add(-age),
			}
		}
		e.mu.Lock()
		e.status.Rejected = []election.Rejection{
			remedied(nodeB, 0), remedied(nodeA, time.Minute), {Source: nodeA, Reason: "checksum", Last: time.Now()},
		}
		e.status.Counters.Rejected = map[string]uint64{"hmac": 14, "checksum": 1}
		e.mu.Unlock()
		s := b.Status()[0]
		require.Len(t, s.Rejected, 3)
		assert.Equal(t, e.status.Rejected, s.Rejected)
		assert.Equal(t, []float64{1}, values(t, b.Set, "keepvip_adverts_rejected_acute"))
		assert.Equal(t, []float64{1, 14}, values(t, b.Set, "keepvip_adverts_rejected_total"))
	})
}

// values are a metric's, in the order of its labels.
func values(t *testing.T, a *Set, name string) []float64 {
	t.Helper()
	reg := prometheus.NewRegistry()
	require.NoError(t, reg.Register(NewCollector(a)))
	families, err := reg.Gather()
	require.NoError(t, err)
	var out []float64
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name {
				out = append(out, m.GetGauge().GetValue()+m.GetCounter().GetValue())
			}
		}
	}
	return out
}

func TestHolderWithoutALeaseIsNotSaidToServe(t *testing.T) {
	run(t, nil, nil, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Serve, nodeA))
		time.Sleep(time.Minute)
		assert.Equal(t, ObservedActive, b.Status()[0].Observed)
		require.NoError(t, b.Ready())

		e.mu.Lock()
		e.lease, e.status.Holder = -3*time.Second, nodeA
		e.mu.Unlock()
		s := b.Status()[0]
		assert.Equal(t, ObservedFault, s.Observed)
		assert.Contains(t, s.Reason, "SILENT: the lease has been over for 3s")
		assert.NotContains(t, s.Reason, "firewall", "the kernel has refused nothing")
		assert.True(t, s.Silent)
		assert.Empty(t, s.Holder)
		require.ErrorContains(t, b.Ready(), "SILENT")

		e.set(func(s *election.Status) { s.Counters.SendErrors = 30 })
		assert.Contains(t, b.Status()[0].Reason, "refused to send 30 advertisements: let protocol 112 (VRRP) out")

		e.mu.Lock()
		e.lease = 0
		e.mu.Unlock()
		assert.Equal(t, ObservedActive, b.Status()[0].Observed)
		require.NoError(t, b.Ready())
	})
}

// What a new instance serves may be an address of another one until that has taken its new configuration over.
func TestAddedInstanceBeginsAfterTheOthersHaveTakenTheirConfigurationsOver(t *testing.T) {
	run(t, nil, nil, func(t *testing.T, b *bench) {
		<-b.electors
		first := <-b.services
		first.reconfigured = func(s *fakeService) {
			time.Sleep(time.Second)
			s.note("reconfigured")
		}
		first.take()
		taken := b.instance(func(in *Config) {
			in.VIP.Name = "ingress"
			serve := partsOf(in).serve
			partsOf(in).serve = func(blocked func(election.Fitness)) Service {
				first.note("another one serves")
				return serve(blocked)
			}
		})
		b.Apply(Delta{Add: []Config{taken}, Adjust: []Config{b.instance(nil)}})
		<-b.electors
		assert.Equal(t, []string{"reconfigured", "another one serves"}, first.take())
	})
}

// The new one may serve what the old one still has.
func TestReloadBeginsTheNewAfterTheOldHasEnded(t *testing.T) {
	run(t, nil, nil, func(t *testing.T, b *bench) {
		<-b.electors
		first := <-b.services
		first.take()
		first.set(func(s *fakeService) { s.closing = time.Second })
		again := b.instance(func(in *Config) {
			serve := partsOf(in).serve
			partsOf(in).serve = func(blocked func(election.Fitness)) Service {
				first.note("the new one serves")
				return serve(blocked)
			}
		})
		b.Apply(Delta{Remove: []string{"apiserver"}, Add: []Config{again}})
		<-b.electors
		assert.Equal(t, []string{"off", "end", "close", "the new one serves"}, first.take())
	})
}

// TestBeginningAnewKeepsWhatAnOperatorWants, whatever has to be done in between, as when a cluster of Raft is recovered.
func TestBeginningAnewKeepsWhatAnOperatorWants(t *testing.T) {
	run(t, nil, nil, func(t *testing.T, b *bench) {
		<-b.electors
		first := <-b.services
		require.NoError(t, b.Drain(t.Context(), nil))
		first.take()
		b.Apply(Delta{Remove: []string{"apiserver"}, Add: []Config{b.instance(nil)}, Between: func() {
			assert.Equal(t, []string{"off", "end", "close"}, first.take())
			assert.Empty(t, b.electors)
			assert.Empty(t, b.Status())
		}})
		<-b.electors
		assert.Equal(t, Drained, b.Status()[0].Desired)
	})
}

func TestReloadDoesNotWaitForAnInstanceThatEnds(t *testing.T) {
	run(t, nil, nil, func(t *testing.T, b *bench) {
		<-b.electors
		service, in := <-b.services, b.instance(nil)
		service.reconfigured = func(*fakeService) { b.cancel() }
		b.Apply(Delta{Adjust: []Config{in, in}})
	})
}

func TestHolderWhoseLeaseIsOverInTheKernelAloneIsNotSaidToServe(t *testing.T) {
	lapsed := func(since time.Time) func(*fakeService) {
		return func(s *fakeService) { s.status.Lapsed = since }
	}
	run(t, nil, nil, func(t *testing.T, b *bench) {
		service, e := <-b.services, <-b.electors
		require.NoError(t, e.decide(election.Serve, nodeA))
		time.Sleep(time.Minute)
		service.set(lapsed(time.Now().Add(-2 * time.Second)))
		s := b.Status()[0]
		assert.Equal(t, ObservedFault, s.Observed)
		assert.Contains(t, s.Reason, "SILENT: the lease has been over for 2s")
		assert.Contains(t, s.Reason, "another nftables table")
		assert.True(t, s.Silent)
		assert.Empty(t, s.Holder)
		require.ErrorContains(t, b.Ready(), "SILENT")

		service.set(func(s *fakeService) { s.status.Passing = true })
		assert.False(t, b.Status()[0].Silent, "another node has the address")
		service.set(func(s *fakeService) { s.status.Passing = false })

		service.set(lapsed(time.Time{}))
		assert.Equal(t, ObservedActive, b.Status()[0].Observed)
		require.NoError(t, b.Ready())
	})
}
