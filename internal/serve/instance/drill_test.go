package instance

import (
	"context"
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

// drillElector is a holder that can be made to fail. The address goes to nodeB when it does, unless nobody takes it.
type drillElector struct {
	*fakeElector
	alone bool // nobody takes it
	did   chan string
}

func (e *drillElector) Handover(ctx context.Context, _ string) error {
	why, reason := election.HandoverReason(ctx, "")
	e.did <- string(why) + " " + reason
	return e.lose(ctx)
}

func (e *drillElector) lose(ctx context.Context) error {
	if e.alone {
		<-ctx.Done()
		return election.ErrTimeout
	}
	e.set(func(s *election.Status) { s.State, s.Holder = election.Backup, nodeB })
	return e.decide(election.Standby, nodeB)
}

func (e *drillElector) StandStill(ctx context.Context) error {
	e.did <- "stands still"
	<-ctx.Done()
	e.did <- "goes on"
	return e.lose(context.Background())
}

func (e *drillElector) TakeBack(context.Context) error {
	e.did <- "takes back"
	e.set(func(s *election.Status) { s.State, s.Holder = election.Active, nodeA })
	return e.decide(election.Serve, nodeA)
}

func (e *drillElector) SetFitness(f election.Fitness) {
	e.fakeElector.SetFitness(f)
	if strings.Contains(f.Reason, "drill") && !e.alone {
		go func() { _ = e.lose(context.Background()) }()
	}
}

// nodeBCalled is what an operator calls nodeB.
const nodeBCalled = "n2 (10.77.0.12)"

// drilling runs a holder beside a fit member.
func drilling(t *testing.T, alone bool, change func(*Config), test func(*testing.T, *bench, *drillElector)) {
	t.Helper()
	e := &drillElector{alone: alone}
	run(t, nil, func(in *Config) {
		e.did = make(chan string, 20) // it belongs to the bubble
		in.Lease = 290 * time.Millisecond
		partsOf(in).elect = func(Place) (election.Elector, func(), error) {
			e.fakeElector = newFakeElector()
			return e, func() {}, nil
		}
		if change != nil {
			change(in)
		}
	}, func(t *testing.T, b *bench) {
		s := <-b.services
		s.set(func(s *fakeService) { s.status.Fence.Standing = true })
		e.set(func(s *election.Status) {
			s.State, s.Holder = election.Active, nodeA
			s.Members = []election.Member{
				{Address: nodeA, Self: true, State: election.Active, Fit: new(true)},
				{Address: nodeB, Node: "n2", State: election.Backup, Fit: new(true), Priority: 100, LastHeard: time.Now()},
			}
		})
		require.NoError(t, e.decide(election.Serve, nodeA))
		synctest.Wait()
		test(t, b, e)
	})
}

func (e *drillElector) done() (out []string) {
	for len(e.did) > 0 {
		out = append(out, <-e.did)
	}
	return out
}

func TestDrillByHandoverSaysWhyAndComesBack(t *testing.T) {
	drilling(t, false, nil, func(t *testing.T, b *bench, e *drillElector) {
		out, err := b.Drill(t.Context(), "apiserver", Drill{Kind: DrillHandover, Lasts: time.Second, Return: true})
		require.NoError(t, err)
		assert.Equal(t, Drilled{Begun: true, Holder: nodeBCalled, Returned: true}, out)
		assert.Equal(t, []string{"KV701 uid 0 asked for a drill (handover)", "takes back"}, e.done())
	})
}

// The deadline is the daemon's: nobody has to tell it to end.
func TestDrillByStopEndsByItself(t *testing.T) {
	drilling(t, false, nil, func(t *testing.T, b *bench, e *drillElector) {
		began := time.Now()
		out, err := b.Drill(t.Context(), "apiserver", Drill{Kind: DrillStop, Lasts: 3 * time.Second})
		require.NoError(t, err)
		assert.InDelta(t, 3, time.Since(began).Seconds(), 0.1)
		assert.Equal(t, Drilled{Begun: true, Holder: nodeBCalled}, out)
		assert.Equal(t, []string{"stands still", "goes on"}, e.done())
	})
}

// Whoever asked was killed: the failure ends at once, and the address comes back nevertheless.
func TestDrillEndsWhenWhoeverAskedHasGone(t *testing.T) {
	drilling(t, false, nil, func(t *testing.T, b *bench, e *drillElector) {
		gone := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(gone) })
		began := time.Now()
		out, err := b.Drill(t.Context(), "apiserver", Drill{Kind: DrillStop, Lasts: 30 * time.Second, Return: true, Gone: gone})
		require.NoError(t, err)
		assert.InDelta(t, 1, time.Since(began).Seconds(), 0.1)
		assert.True(t, out.Returned)
		assert.Equal(t, []string{"stands still", "goes on", "takes back"}, e.done())
		assert.Contains(t, b.log.String(), "code=KV707")
	})
}

func TestDrillByCheckMakesEveryCheckBadUntilTheAddressIsElsewhere(t *testing.T) {
	healthy := func(in *Config) {
		in.Checks = []Check{{Name: "apiserver", Verdict: func() health.Verdict { return health.Verdict{State: health.Healthy} }}}
	}
	for _, alone := range []bool{false, true} {
		drilling(t, alone, healthy, func(t *testing.T, b *bench, e *drillElector) {
			b.verdicts <- health.Verdict{State: health.Healthy}
			synctest.Wait()
			seen := make(chan Status, 1)
			time.AfterFunc(time.Millisecond, func() { seen <- b.Status()[0] })
			out, err := b.Drill(t.Context(), "apiserver", Drill{Kind: DrillCheck, Lasts: 5 * time.Second})
			synctest.Wait()
			assert.Equal(t, election.Fitness{}, e.fitness(), "it is fit again")
			if alone {
				require.ErrorIs(t, err, election.ErrTimeout)
				s := <-seen
				assert.Equal(t, "the check apiserver fails: uid 0 asked for a drill (check)", s.Unfit)
				assert.Equal(t, code.DrillCheck, s.Check.Code)
				assert.Equal(t, health.Unhealthy, s.Check.State)
				assert.Equal(t, health.Healthy, b.Status()[0].Check.State)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, nodeBCalled, out.Holder)
		})
	}
}

// A drill must not ask for the address for a process that stops, nor keep it from stopping.
func TestDrillEndsWhenTheProcessStops(t *testing.T) {
	healthy := func(in *Config) {
		in.Checks = []Check{{Name: "apiserver", Verdict: func() health.Verdict { return health.Verdict{State: health.Healthy} }}}
	}
	for name, tt := range map[string]struct {
		kind  DrillKind
		alone bool
	}{
		"before another node has it": {DrillCheck, true},
		"before the way back":        {DrillHandover, false},
	} {
		t.Run(name, func(t *testing.T) {
			drilling(t, tt.alone, healthy, func(t *testing.T, b *bench, e *drillElector) {
				b.verdicts <- health.Verdict{State: health.Healthy}
				synctest.Wait()
				time.AfterFunc(time.Second, b.cancel)
				began := time.Now()
				out, err := b.Drill(t.Context(), "apiserver", Drill{Kind: tt.kind, Lasts: 20 * time.Second, Return: true})
				assert.Less(t, time.Since(began), 1100*time.Millisecond)
				assert.NotContains(t, e.done(), "takes back")
				if tt.alone {
					require.ErrorIs(t, err, ErrDrillEnded)
					return
				}
				require.NoError(t, err)
				assert.False(t, out.Returned)
				assert.Contains(t, out.Stays, "keepvip stops")
			})
		})
	}
}

// An operator who wants something else in the midst is no finding about the others, of which an alert would tell.
func TestDrillThatALaterCommandEndsHasNotFailed(t *testing.T) {
	drilling(t, true, nil, func(t *testing.T, b *bench, e *drillElector) {
		time.AfterFunc(time.Second, func() { assert.NoError(t, b.Resume([]string{"apiserver"})) })
		_, err := b.Drill(t.Context(), "apiserver", Drill{Kind: DrillHandover, Lasts: 10 * time.Second})
		require.ErrorIs(t, err, ErrDrillEnded)
		assert.EqualError(t, err, "the drill was ended before its time: superseded by a later command for the same address (KV707)")
		assert.NotContains(t, b.log.String(), "KV705")
	})
}

// Nobody takes an address whose lease goes on: that is no finding about the others.
func TestDrillByStopOutlastsTheLease(t *testing.T) {
	drilling(t, false, nil, func(t *testing.T, b *bench, e *drillElector) {
		_, err := b.Drill(t.Context(), "apiserver", Drill{Kind: DrillStop, Lasts: 290 * time.Millisecond})
		require.ErrorContains(t, err, "the lease of 290ms would outlast a drill of 290ms")
		assert.ErrorContains(t, err, "KV704")
		assert.Empty(t, e.done(), "nothing has changed")
	})
}

func TestDrillThatNobodyTakesFails(t *testing.T) {
	drilling(t, true, nil, func(t *testing.T, b *bench, e *drillElector) {
		began := time.Now()
		out, err := b.Drill(t.Context(), "apiserver", Drill{Kind: DrillHandover, Lasts: 2 * time.Second, Return: true})
		require.ErrorIs(t, err, election.ErrTimeout)
		assert.Equal(t, Drilled{Begun: true, Returned: true}, out)
		assert.InDelta(t, 2, time.Since(began).Seconds(), 0.1)
	})
}

// A process that stood still finds the end of its patience and another holder in one moment. It must not say that nobody has the address.
func TestDrillFindsAnotherHolderAtTheEndOfItsPatience(t *testing.T) {
	drilling(t, false, nil, func(t *testing.T, b *bench, e *drillElector) {
		s := &b.all()[0].shared
		ctx, cancel := context.WithCancel(t.Context())
		found := make(chan string, 1)
		go func() { found <- s.awaitOther(ctx) }()
		synctest.Wait()
		require.NoError(t, e.lose(ctx))
		cancel()
		assert.Equal(t, nodeB.String(), <-found)
	})
}

func TestDrillsAndOtherCommandsComeOneAtATime(t *testing.T) {
	drilling(t, false, nil, func(t *testing.T, b *bench, e *drillElector) {
		ended := make(chan error, 1)
		go func() {
			_, err := b.Drill(t.Context(), "apiserver", Drill{Kind: DrillStop, Lasts: 20 * time.Second})
			ended <- err
		}()
		time.Sleep(time.Second)
		_, err := b.Drill(t.Context(), "apiserver", Drill{Kind: DrillHandover, Lasts: time.Second})
		require.ErrorIs(t, err, errDrillBusy)
		began := time.Now()
		require.NoError(t, b.Resume([]string{"apiserver"}), "a later command ends a drill")
		<-ended
		assert.Less(t, time.Since(began), time.Second)

		_, done, err := b.turns.take(t.Context(), []string{"apiserver"})
		require.NoError(t, err)
		_, err = b.Drill(t.Context(), "apiserver", Drill{Kind: DrillStop, Lasts: time.Second})
		require.ErrorIs(t, err, errBusy, "a drill ends no other command")
		done()
	})
}

func TestDrillIsRefused(t *testing.T) {
	now := time.Now()
	heard := now.Add(-5 * time.Minute)
	fit, unfit := true, false
	good := func() *Status {
		return &Status{
			State: "active", Desired: Available, Holder: "10.0.0.11", Fence: FenceStatus{Standing: true}, Checks: []CheckStatus{{}},
			VRID: 51, Priority: 100, Preempt: true,
			Members: []election.Member{
				{Address: netip.MustParseAddr("10.0.0.11"), Self: true, State: election.Active},
				{Address: netip.MustParseAddr("10.0.0.12"), Node: "n2", State: election.Backup, Fit: &fit, Priority: 100, LastHeard: heard},
				{Address: netip.MustParseAddr("10.0.0.13"), Node: "n3", State: election.Backup, Fit: &fit, Priority: 100, LastHeard: heard},
			},
		}
	}
	tests := map[string]struct {
		kind   DrillKind
		stays  bool
		change func(*Status)
		want   string
		is     error
	}{
		"another node holds it": {change: func(s *Status) { s.State, s.Holder = "backup", "10.0.0.12" }, want: "n2 (10.0.0.12) does", is: election.ErrNotActive},
		"nobody holds it":       {change: func(s *Status) { s.State, s.Holder = "backup", "" }, want: "nobody is heard", is: election.ErrNotActive},
		"drained":               {change: func(s *Status) { s.Desired = Drained }, want: "this node is drained: resume it first"},
		"no fence, stop":        {kind: DrillStop, change: func(s *Status) { s.Fence = FenceStatus{Reason: "no nftables"} }, want: "two nodes could answer: no nftables"},
		"a fence with a gap, stop": {kind: DrillStop, change: func(s *Status) {
			s.Fence.Uncovered = "ARP on other links of this node"
		}, want: "the fence does not cover ARP on other links of this node: two nodes could answer; drill with --handover or --check"},
		"no way back": {change: func(s *Status) {
			s.Members[1].Priority = 254
		}, want: "n2 (10.0.0.12) has priority 254, and this node could not rank above it to have the address back: drill with --no-return, or give that node a lower priority"},
		"taken back by itself": {stays: true, change: func(s *Status) {
			s.Priority = 150
		}, want: "this node would take the address back by itself (its priority is 150, that of the others 100 at most, and vrrp.preempt is on): drill without --no-return"},
		"no check":      {kind: DrillCheck, change: func(s *Status) { s.Checks = nil }, want: "no check of this node is a condition"},
		"weights alone": {kind: DrillCheck, change: func(s *Status) { s.Checks[0].Weight = 5 }, want: "no check of this node is a condition"},
		"a silent member": {change: func(s *Status) {
			s.Members[2].State, s.Members[2].LastHeard = election.Silent, heard
		}, want: "without risk: n3 (10.0.0.13) is silent for 5m0s", is: election.ErrNoTaker},
		"an unfit member": {change: func(s *Status) {
			s.Members[1].Fit, s.Members[1].Unfit = &unfit, "the health check fails"
		}, want: "n2 (10.0.0.12) is not fit: the health check fails", is: election.ErrNoTaker},
		"a member that speaks VRRP alone": {change: func(s *Status) {
			s.Members = s.Members[:2]
			s.Members[1].Fit = nil
		}, want: "none is known that says that it is fit", is: election.ErrNoTaker},
		"alone":       {change: func(s *Status) { s.Members = s.Members[:1] }, want: "none is known", is: election.ErrNoTaker},
		"no majority": {change: func(s *Status) { s.Takers.Reason = "NO QUORUM" }, want: "NO QUORUM", is: election.ErrNoTaker},
		"a conflict":  {change: func(s *Status) { s.Conflicts = []Conflict{{MAC: "02:00:00:00:00:66"}} }, want: "CONFLICT"},
		"a split":     {change: func(s *Status) { s.Splits = []election.Split{{}} }, want: "SPLIT"},
		"silent":      {change: func(s *Status) { s.Silent, s.Reason = true, "SILENT: the lease is over" }, want: "SILENT"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := good()
			d := Drill{Kind: tt.kind, Return: !tt.stays}
			require.NoError(t, s.mayDrill(d, now))
			tt.change(s)
			err := s.mayDrill(d, now)
			assert.ErrorContains(t, err, tt.want)
			if tt.is != nil {
				assert.ErrorIs(t, err, tt.is)
			}
		})
	}
}

// What would be in the way of one drill is in the way of no other.
func TestDrillIsNotRefused(t *testing.T) {
	fit, heard := true, time.Now()
	for name, tt := range map[string]struct {
		d      Drill
		change func(*Status)
	}{
		"a gap of the fence, handover":          {Drill{Kind: DrillHandover, Return: true}, func(s *Status) { s.Fence.Uncovered = "ARP on other links" }},
		"the other has 254, it stays there":     {Drill{Kind: DrillStop}, func(s *Status) { s.Members[1].Priority = 254 }},
		"the other has 254, this one is owner":  {Drill{Kind: DrillStop, Return: true}, func(s *Status) { s.Priority, s.Members[1].Priority = 255, 254 }},
		"it stays there, preemption is off":     {Drill{Kind: DrillStop}, func(s *Status) { s.Priority, s.Preempt = 150, false }},
		"it stays there, the other is as high":  {Drill{Kind: DrillStop}, func(s *Status) {}},
		"Raft knows no ranks and no preemption": {Drill{Kind: DrillStop, Return: true}, func(s *Status) { s.VRID, s.Members[1].Priority = 0, 254 }},
	} {
		s := Status{State: "active", Desired: Available, Fence: FenceStatus{Standing: true}, VRID: 51, Priority: 100, Preempt: true, Members: []election.Member{
			{Self: true, State: election.Active, Priority: 100}, {State: election.Backup, Fit: &fit, Priority: 100, LastHeard: heard},
		}}
		tt.change(&s)
		assert.NoError(t, s.mayDrill(tt.d, heard), name)
	}
}

// A leader of Raft that stands still loses every address: a verb about another one must not come between.
func TestDrillIsOfEveryAddressOfTheCluster(t *testing.T) {
	byRaft := func(name string) Config { return Config{VIP: config.VIP{Name: name, Election: config.ElectionRaft}} }
	a := New(slog.New(slog.DiscardHandler))
	a.Apply(Delta{Add: []Config{byRaft("one"), {VIP: config.VIP{Name: "vrrp"}}, byRaft("two")}})
	list, err := a.together("two")
	require.NoError(t, err)
	assert.Equal(t, []string{"two", "one"}, namesOf(list))
	list, err = a.together("vrrp")
	require.NoError(t, err)
	assert.Equal(t, []string{"vrrp"}, namesOf(list))
}

// A witness is no node that could take the address, and none that must.
func TestDrillBesideAWitness(t *testing.T) {
	fit, unfit, now := true, false, time.Now()
	s := Status{State: "active", Desired: Available, Members: []election.Member{
		{State: election.Backup, Witness: true, Fit: &unfit, LastHeard: now}, {State: election.Backup, Fit: &fit, LastHeard: now},
	}}
	require.NoError(t, s.mayDrill(Drill{Kind: DrillHandover}, now))
	s.Members[0].Witness, s.Members[0].NoCandidate = false, true
	require.NoError(t, s.mayDrill(Drill{Kind: DrillHandover}, now), "one that is no candidate is as little")
	s.Members = s.Members[:1]
	assert.ErrorIs(t, s.mayDrill(Drill{Kind: DrillHandover}, now), election.ErrNoTaker)
}
