package instance

import (
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/check/health"
	"github.com/keepvip/keepvip/internal/config"
)

// running is an instance in its first term.
func running(t *testing.T, test func(t *testing.T, b *bench, s *fakeService, e *fakeElector)) {
	t.Helper()
	run(t, nil, nil, func(t *testing.T, b *bench) { test(t, b, <-b.services, <-b.electors) })
}

func TestInstanceHasItsServiceForItsLife(t *testing.T) {
	running(t, func(t *testing.T, b *bench, s *fakeService, e *fakeElector) {
		require.NoError(t, e.decide(election.Serve, nodeA))
		b.place.set(func(p *fakePlace) { p.place.Name = "lan0" })
		b.HostChanged()
		synctest.Wait()
		assert.Equal(t, []string{"begin 2", "serve", "host changed lan0"}, s.take())
		assert.Equal(t, "lan0", b.Status()[0].Interface)
		b.place.set(func(p *fakePlace) { p.place.Index = 7 })
		b.HostChanged()
		<-e.ended
		<-b.electors
		synctest.Wait()
		assert.Equal(t, []string{"off", "end", "begin 7"}, s.take(), "another term")
		b.place.set(func(p *fakePlace) { p.err = errors.New("eth0 is down") })
		b.HostChanged()
		synctest.Wait()
		assert.Equal(t, []string{"off", "end", "off"}, s.take(), "no term")
		assert.Equal(t, "eth0 is down", b.Status()[0].Reason)
		b.cancel()
		<-b.done
		assert.Equal(t, []string{"close"}, s.take())
		assert.Equal(t, ObservedRemoved, b.Status()[0].Observed)
		assert.Empty(t, b.services, "no other one")
	})
}

func TestInstanceTellsTheElectorWhatBlocksTheService(t *testing.T) {
	running(t, func(t *testing.T, b *bench, s *fakeService, e *fakeElector) {
		s.blocked(election.Fitness{Out: true, Reason: "refused"})
		assert.Equal(t, election.Fitness{Out: true, Less: lastPlace, Reason: "refused"}, e.fitness(), "at once")
		s.blocked(election.Fitness{Wait: true, Reason: "suspected"})
		assert.Equal(t, election.Fitness{Wait: true, Reason: "suspected"}, e.fitness())
		b.place.set(func(p *fakePlace) { p.place.Index = 7 })
		b.HostChanged()
		assert.Equal(t, election.Fitness{}, (<-b.electors).fitness(), "another term begins without")
	})
}

func TestInstanceTellsTheServiceOfEachVerdict(t *testing.T) {
	run(t, nil, func(in *Config) { in.Checks = []Check{{Name: "serving"}} }, func(t *testing.T, b *bench) {
		s := <-b.services
		judged := func() (n int) { s.set(func(s *fakeService) { n = s.judged }); return n }
		b.verdicts <- health.Verdict{State: health.Healthy}
		synctest.Wait()
		before := judged()
		b.verdicts <- health.Verdict{State: health.Unhealthy}
		synctest.Wait()
		assert.Equal(t, before+1, judged(), "at once")
	})
}

func TestInstanceShowsWhatTheServiceShows(t *testing.T) {
	running(t, func(t *testing.T, b *bench, s *fakeService, e *fakeElector) {
		require.NoError(t, e.decide(election.Serve, nodeA))
		s.set(func(s *fakeService) {
			s.status = ServiceStatus{Fence: FenceStatus{Standing: true}, Conflicts: []Conflict{{MAC: "m"}}, Announcements: 7, AnnouncementFails: 2, Restored: 1}
		})
		got := b.Status()[0]
		assert.Equal(t, ObservedActive, got.Observed)
		assert.Equal(t, FenceStatus{Standing: true}, got.Fence)
		assert.Equal(t, []Conflict{{MAC: "m", Code: code.DuplicateAddress}}, got.Conflicts)
		assert.Equal(t, Counters{Announcements: 7, AnnouncementFails: 2, Restored: 1, Terms: 1}, got.Counters)
		require.NoError(t, e.decide(election.Quiet, nodeA))
		s.set(func(s *fakeService) { s.status.Passing = true })
		assert.Equal(t, ObservedDraining, b.Status()[0].Observed)
		require.NoError(t, b.Announce())
		assert.Equal(t, []string{"begin 2", "serve", "quiet", "announce"}, s.take())
	})
}

func TestInstanceNotesWhatHasBeenCarriedOut(t *testing.T) {
	failed := errors.New("no space left")
	tests := []struct {
		name   string
		before []election.Role
		give   election.Decision
		fail   error
		state  string
		reason string
		lines  int
	}{
		{name: "standby", give: election.Decision{Role: election.Standby, Reason: "x"}, state: "backup", reason: "x", lines: 1},
		{name: "serve", give: election.Decision{Role: election.Serve, Reason: "x"}, state: "active", reason: "x", lines: 1},
		{name: "serve fails", before: []election.Role{election.Standby}, give: election.Decision{Role: election.Serve, Reason: "x"}, fail: failed, state: "backup", reason: "decided"},
		{name: "serve again", before: []election.Role{election.Serve}, give: election.Decision{Role: election.Serve, Reason: "x", Rival: true}, state: "active", reason: "decided"},
		{name: "quiet", before: []election.Role{election.Serve}, give: election.Decision{Role: election.Quiet, Reason: "x"}, state: "backup", reason: "x", lines: 1},
		{name: "quiet fails", before: []election.Role{election.Serve}, give: election.Decision{Role: election.Quiet, Reason: "x"}, fail: failed, state: "active", reason: "decided"},
		{name: "quiet after standby", before: []election.Role{election.Standby}, give: election.Decision{Role: election.Quiet, Reason: "x"}, state: "backup", reason: "decided"},
		{name: "passed on", before: []election.Role{election.Serve, election.Quiet}, give: election.Decision{Role: election.Standby, Reason: "x"}, state: "backup", reason: "decided"},
		{name: "the release fails", before: []election.Role{election.Serve}, give: election.Decision{Role: election.Off, Reason: "x"}, fail: failed, state: "initialize", reason: "x", lines: 1},
		{name: "a holder is heard", before: []election.Role{election.Standby}, give: election.Decision{Role: election.Standby, Reason: "x", Holder: nodeB}, state: "backup", reason: "x", lines: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			running(t, func(t *testing.T, b *bench, s *fakeService, e *fakeElector) {
				for _, r := range tt.before {
					require.NoError(t, e.decide(r, netip.Addr{}))
				}
				before := strings.Count(b.log.String(), "\n")
				s.set(func(s *fakeService) { s.fail = tt.fail })
				e.decisions <- tt.give
				require.ErrorIs(t, <-e.answers, tt.fail)
				s.set(func(s *fakeService) { s.fail = nil })
				got := b.Status()[0]
				assert.Equal(t, []string{tt.state, tt.reason}, []string{got.State, got.Reason})
				assert.Equal(t, tt.lines, strings.Count(b.log.String(), "\n")-before, "lines of the log")
			})
		})
	}
}

func TestInstanceIsAsLiveAsItsService(t *testing.T) {
	running(t, func(t *testing.T, b *bench, s *fakeService, _ *fakeElector) {
		time.Sleep(time.Hour)
		require.NoError(t, b.Live())
		stuck := make(chan struct{})
		s.set(func(s *fakeService) { s.stuck = stuck })
		time.Sleep(deadAfter + 2*beatEvery)
		assert.ErrorContains(t, b.Live(), "apiserver")
		close(stuck)
		synctest.Wait()
		assert.NoError(t, b.Live())
	})
}

func TestCombine(t *testing.T) {
	in := Config{Checks: []Check{{}}, VIP: config.VIP{Priority: 100}}
	healthy := map[string]health.Verdict{"": good}
	tests := []struct {
		name    string
		desired Desired
		give    map[string]health.Verdict
		blocked election.Fitness
		want    election.Fitness
	}{
		{name: "fit", desired: Available, give: healthy},
		{name: "unhealthy", desired: Available, give: map[string]health.Verdict{"": bad}, want: election.Fitness{Less: lastPlace, Reason: "the health check fails: 500", Code: code.CheckFailed}},
		{name: "drained", desired: Drained, give: healthy, want: election.Fitness{Less: lastPlace, Reason: "drained by an operator", Code: code.Drained}},
		{name: "held", desired: Held, give: healthy, want: election.Fitness{Out: true, Less: lastPlace, Reason: "held by an operator", Code: code.Held}},
		{name: "blocked", desired: Available, give: healthy, blocked: election.Fitness{Out: true, Reason: "claimed"}, want: election.Fitness{Out: true, Less: lastPlace, Reason: "claimed"}},
		{name: "blocked for a moment", desired: Available, give: healthy, blocked: election.Fitness{Wait: true, Reason: "claimed"}, want: election.Fitness{Wait: true, Reason: "claimed"}},
		{
			name: "blocked for a moment, and unhealthy", desired: Available, give: map[string]health.Verdict{"": bad}, blocked: election.Fitness{Wait: true, Reason: "claimed"},
			want: election.Fitness{Wait: true, Less: lastPlace, Reason: "claimed"},
		},
		{name: "held, and blocked", desired: Held, give: healthy, blocked: election.Fitness{Out: true, Reason: "claimed"}, want: election.Fitness{Out: true, Less: lastPlace, Reason: "claimed"}},
		{name: "held, and blocked for a moment", desired: Held, give: healthy, blocked: election.Fitness{Wait: true, Reason: "claimed"}, want: election.Fitness{Out: true, Less: lastPlace, Reason: "held by an operator", Code: code.Held}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, in.combine(desiredState{Desired: tt.desired}, tt.give, tt.blocked))
		})
	}
}

// A clock that is set forward must not make a loop look stuck, nor one that is set back a stuck loop alive.
func TestBeatOfAnInstanceIsNoTimeOfTheClock(t *testing.T) {
	i := newInstance(Config{}, slog.New(slog.DiscardHandler))
	i.beats = time.NewTimer(time.Hour)
	defer i.beats.Stop()
	i.alive()
	assert.Contains(t, i.begun.String(), " m=+", "it has both readings")
	assert.Less(t, time.Duration(i.beat.Load()), time.Minute)
	assert.Less(t, i.silent(time.Now()), time.Minute)
	assert.GreaterOrEqual(t, i.silent(time.Now().Add(deadAfter)), deadAfter)
}
