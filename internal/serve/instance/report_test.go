package instance

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/check/health"
	"github.com/keepvip/keepvip/internal/config"
)

// reported is a bench whose instance says what it is to whoever asks.
type reported struct {
	*bench
	service *fakeService
	elector *fakeElector
	said    []Report
}

var standings = map[Standing]string{Holding: "holding", Ready: "ready", Unable: "unable", Stopped: "stopped"}

// take is what was reported since the last call.
func (r *reported) take() (out []string) {
	synctest.Wait()
	i := r.find("apiserver")
	i.shared.mu.Lock()
	defer i.shared.mu.Unlock()
	for _, s := range r.said {
		out = append(out, fmt.Sprintf("%s: %s", standings[s.Standing], s.Reason))
	}
	r.said = nil
	return out
}

func reporting(t *testing.T, checks []Check, test func(r *reported)) {
	t.Helper()
	r := &reported{}
	run(t, nil, func(in *Config) {
		in.Checks, in.VIP.Priority = checks, 100
		in.Report = func(s Report) { r.said = append(r.said, s) }
	}, func(_ *testing.T, b *bench) {
		r.bench, r.service, r.elector = b, <-b.services, <-b.electors
		test(r)
	})
}

func TestReportFollowsWhatTheServiceHasDone(t *testing.T) {
	reporting(t, nil, func(r *reported) {
		e := r.elector
		assert.Empty(t, r.take(), "nothing is decided yet")
		require.NoError(t, e.decide(election.Standby, netip.Addr{}))
		assert.Equal(t, []string{"ready: decided"}, r.take())
		require.NoError(t, e.decide(election.Standby, nodeB))
		assert.Empty(t, r.take(), "it is what it was")
		r.service.set(func(s *fakeService) { s.fail = errors.New("no space") })
		require.Error(t, e.decide(election.Serve, nodeA))
		assert.Empty(t, r.take(), "nothing is bound")
		r.service.set(func(s *fakeService) { s.fail = nil })
		require.NoError(t, e.decide(election.Standby, netip.Addr{}))
		require.NoError(t, e.decide(election.Serve, nodeA))
		require.NoError(t, e.tell(election.Decision{Role: election.Serve, Rival: true, Holder: nodeA}))
		assert.Equal(t, []string{"holding: decided"}, r.take())
		require.NoError(t, e.decide(election.Quiet, nodeB))
		assert.Empty(t, r.take(), "the addresses are bound still")
		require.NoError(t, e.decide(election.Serve, nodeA))
		assert.Empty(t, r.take(), "the other one did not take them")
		require.NoError(t, e.decide(election.Quiet, nodeB))
		require.NoError(t, e.decide(election.Standby, nodeB))
		assert.Equal(t, []string{"ready: decided"}, r.take())
		require.NoError(t, e.decide(election.Off, netip.Addr{}))
		assert.Equal(t, []string{"unable: decided"}, r.take())
	})
}

func TestReportSaysHolderAndPriority(t *testing.T) {
	checks := []Check{{Name: "a", Weight: 10}, {Name: "b", Weight: -30}}
	reporting(t, checks, func(r *reported) {
		require.NoError(t, r.elector.decide(election.Standby, nodeB))
		synctest.Wait()
		require.Len(t, r.said, 1)
		assert.Equal(t, []any{nodeB, uint8(100)}, []any{r.said[0].Holder, r.said[0].Priority})
		r.take()
		// One channel is for both checks, so both are bad.
		r.verdicts <- health.Verdict{State: health.Unhealthy}
		r.verdicts <- health.Verdict{State: health.Unhealthy}
		assert.Empty(t, r.take(), "weights are no conditions")
	})
	in := Config{Checks: checks, VIP: config.VIP{Priority: 100}}
	assert.Equal(t, uint8(110), in.priority(map[string]health.Verdict{"a": good, "b": good}))
	assert.Equal(t, uint8(70), in.priority(map[string]health.Verdict{"b": {State: health.Unhealthy}}))
}

func TestReportFollowsTheConditions(t *testing.T) {
	bad := health.Verdict{State: health.Unhealthy, Reason: "refused"}
	reporting(t, []Check{{}}, func(r *reported) {
		require.NoError(t, r.elector.decide(election.Standby, nodeB))
		assert.Empty(t, r.take(), "nothing is known of the node yet")
		r.verdicts <- bad
		assert.Equal(t, []string{"unable: the health check fails: refused"}, r.take())
		r.verdicts <- good
		assert.Equal(t, []string{"ready: decided"}, r.take())
		require.NoError(t, r.elector.decide(election.Serve, nodeA))
		r.verdicts <- bad
		assert.Equal(t, []string{"holding: decided"}, r.take(), "it holds the addresses, as nobody else is better")
		require.NoError(t, r.elector.decide(election.Standby, nodeB))
		assert.Equal(t, []string{"unable: the health check fails: refused"}, r.take())
	})
}

// A node whose check has no result yet may be out of the election. Programs that stop a service on FAULT must not be told that.
func TestReportSaysNothingUntilTheConditionsAreKnown(t *testing.T) {
	off := election.Decision{Role: election.Off, Reason: "no result of the health check yet", Code: code.CheckUnknown}
	for name, tt := range map[string]struct {
		first health.Verdict
		now   []string // what is told of that
		then  election.Decision
		want  []string
	}{
		"good":                {good, nil, election.Decision{Role: election.Standby, Reason: "fit"}, []string{"ready: fit"}},
		"good, without a way": {good, nil, election.Decision{Role: election.Off, Reason: "no socket"}, []string{"unable: no socket"}},
		"bad": {
			health.Verdict{State: health.Unhealthy, Reason: "refused"},
			[]string{"unable: the health check fails: refused"},
			election.Decision{Role: election.Off, Reason: "refused"},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			reporting(t, []Check{{}}, func(r *reported) {
				require.NoError(t, r.elector.tell(off))
				assert.Empty(t, r.take())
				r.verdicts <- tt.first
				assert.Equal(t, tt.now, r.take())
				require.NoError(t, r.elector.tell(tt.then))
				assert.Equal(t, tt.want, r.take())
			})
		})
	}
}

func TestReportOfANodeThatTakesNoPart(t *testing.T) {
	reporting(t, nil, func(r *reported) {
		require.NoError(t, r.elector.decide(election.Standby, nodeB))
		assert.Equal(t, []string{"ready: decided"}, r.take())
		r.service.blocked(election.Fitness{Out: true, Reason: "10.77.0.100 is another host's"})
		assert.Equal(t, []string{"unable: 10.77.0.100 is another host's"}, r.take())
		r.service.blocked(election.Fitness{Wait: true, Reason: "in a moment"})
		assert.Equal(t, []string{"ready: decided"}, r.take())
		r.place.set(func(p *fakePlace) { p.err = errors.New("eth0 is down") })
		r.HostChanged()
		<-r.elector.ended
		got := r.take()
		require.NotEmpty(t, got)
		assert.Contains(t, got[0], "unable: ")
		assert.Len(t, got, 1)
		r.place.set(func(p *fakePlace) { p.err = nil })
		r.HostChanged()
		e := <-r.electors
		assert.Empty(t, r.take(), "nothing is decided yet")
		require.NoError(t, e.decide(election.Standby, nodeB))
		assert.Equal(t, []string{"ready: decided"}, r.take())
	})
}

func TestReportOfTheEnd(t *testing.T) {
	for name, role := range map[string]election.Role{"of a holder": election.Serve, "of a backup": election.Standby} {
		t.Run(name, func(t *testing.T) {
			reporting(t, nil, func(r *reported) {
				require.NoError(t, r.elector.decide(role, nodeA))
				r.take()
				r.cancel()
				<-r.done
				assert.Equal(t, []string{"stopped: stopped"}, r.take(), "and nothing in between")
				assert.Equal(t, []string{"begin 2", map[election.Role]string{election.Serve: "serve", election.Standby: "standby"}[role], "off", "end", "close"}, r.service.take())
			})
		})
	}
}
