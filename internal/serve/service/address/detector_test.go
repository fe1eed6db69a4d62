package address

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

func (b *bench) hear(address netip.Addr, mac string) {
	b.host.claims <- Claim{Address: address, MAC: mac}
	synctest.Wait()
}

func probeFirst(in *entry) { in.ProbeFirst, in.Lease = true, time.Second }

func TestForeignHostIsReportedAndDefendedAgainst(t *testing.T) {
	repeating := func(in *entry) { in.Schedule = announcing(2) }
	run(t, nil, repeating, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Serve, nodeA))
		time.Sleep(3 * time.Second)
		synctest.Wait()
		b.host.take()
		b.hear(vip4.Addr(), foreignMAC)
		assert.Empty(t, b.Status()[0].Conflicts)
		time.Sleep(foreignGrace)
		synctest.Wait()
		require.Len(t, b.Status()[0].Conflicts, 1)
		assert.Equal(t, foreignMAC, b.Status()[0].Conflicts[0].MAC)
		assert.Equal(t, []string{"announce 2"}, b.host.take())
		for range 9 {
			time.Sleep(time.Second)
			b.hear(vip4.Addr(), foreignMAC)
		}
		assert.NotContains(t, b.host.take(), "announce 2", "more than once in DEFEND_INTERVAL")
		time.Sleep(time.Second)
		b.hear(vip4.Addr(), foreignMAC)
		assert.Contains(t, b.host.take(), "announce 2")
		assert.Equal(t, election.Fitness{}, e.fitness())
		time.Sleep(foreignForget)
		synctest.Wait()
		assert.Empty(t, b.Status()[0].Conflicts)
	})
}

// What the host says by VRRP is in the status of every conflict with its MAC, and of no other; whoever says nothing is shown without.
func TestForeignHostThatSpeaksVRRPIsShownWithIt(t *testing.T) {
	router := instance.Router{Source: netip.MustParseAddr("10.77.0.66"), Version: 2, VRID: 52, Priority: 101}
	speaks := func(h *fakeHost) { h.routers = map[string]instance.Router{foreignMAC: router} }
	run(t, speaks, nil, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Standby, nodeB))
		b.hear(vip4.Addr(), foreignMAC)
		b.hear(vip6.Addr(), "02:00:00:00:00:67")
		assert.Empty(t, b.Status()[0].Conflicts)
		time.Sleep(foreignGrace)
		synctest.Wait()
		conflicts := b.Status()[0].Conflicts
		require.Len(t, conflicts, 2)
		assert.Equal(t, &router, conflicts[0].VRRP)
		assert.Nil(t, conflicts[1].VRRP)
		time.Sleep(foreignForget)
		synctest.Wait()
		assert.Empty(t, b.Status()[0].Conflicts)
	})
}

func TestForeignHostThatAnswersProbesIsFound(t *testing.T) {
	silent := func(h *fakeHost) { h.owners[vip6.Addr()] = foreignMAC }
	run(t, silent, nil, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Standby, nodeB))
		time.Sleep(time.Second)
		synctest.Wait()
		require.Len(t, b.Status()[0].Conflicts, 1, "found by the probes of the start")
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Len(t, b.Status()[0].Conflicts, 1, "it goes on answering")
		b.host.set(func(h *fakeHost) { clear(h.owners) })
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Empty(t, b.Status()[0].Conflicts)
	})
}

func TestMemberIsNoForeignHost(t *testing.T) {
	run(t, func(h *fakeHost) { h.owners[nodeB] = memberMAC }, probeFirst, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Standby, netip.Addr{}))
		e.mu.Lock()
		e.status.Members = []election.Member{{Address: nodeA, Self: true}, {Address: nodeB, State: election.Active}}
		e.mu.Unlock()
		// It announces the address before its advertisement has been looked at.
		b.hear(vip4.Addr(), memberMAC)
		require.NoError(t, e.decide(election.Standby, nodeB))
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Empty(t, b.Status()[0].Conflicts)
		assert.Contains(t, b.host.probed, nodeB)
		assert.False(t, e.fitness().Out)
	})
}

// Two nodes that hear each other no more, as after a change of the key on one of them, both hold the address: each finds that the other
// answers.
func TestMemberThatIsHeardNoMoreAndAnswersIsAConflict(t *testing.T) {
	for name, holder := range map[string]bool{"of a node that holds the address": true, "of one that takes over": false} {
		for _, silent := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, %t", name, silent), func(t *testing.T) {
				run(t, func(h *fakeHost) { h.owners[nodeB] = memberMAC }, nil, func(t *testing.T, b *bench) {
					e := <-b.electors
					other := func(m election.Member) {
						m.Address = nodeB
						if silent {
							m.Fit = new(false)
						}
						e.mu.Lock()
						defer e.mu.Unlock()
						e.status.Members = []election.Member{{Address: nodeA, Self: true}, m}
					}
					other(election.Member{State: election.Active, LastHeard: time.Now()})
					if holder {
						require.NoError(t, e.decide(election.Serve, nodeA))
					} else {
						require.NoError(t, e.decide(election.Standby, nodeB))
					}
					time.Sleep(30 * time.Second) // its MAC is known
					b.host.set(func(h *fakeHost) { h.owners[vip4.Addr()] = memberMAC })
					gone := election.Member{State: election.Backup, LastHeard: time.Now(), Unheard: !silent}
					if silent {
						gone.Silence()
					}
					if holder { // the other takes over beside it, and announces
						b.hear(vip4.Addr(), memberMAC)
						other(gone)
					} else {
						other(gone)
						require.NoError(t, e.decide(election.Serve, nodeA))
					}
					time.Sleep(4 * time.Second)
					synctest.Wait()
					assert.Empty(t, b.Status()[0].Conflicts, "a dead one may still answer")
					time.Sleep(4 * time.Second)
					synctest.Wait()
					require.Len(t, b.Status()[0].Conflicts, 1)
					assert.Equal(t, memberMAC, b.Status()[0].Conflicts[0].MAC)
					time.Sleep(time.Minute)
					synctest.Wait()
					assert.Len(t, b.Status()[0].Conflicts, 1, "it goes on answering")

					other(election.Member{State: election.Backup, LastHeard: time.Now()})
					b.host.set(func(h *fakeHost) { delete(h.owners, vip4.Addr()) })
					time.Sleep(20 * time.Second)
					synctest.Wait()
					assert.Empty(t, b.Status()[0].Conflicts)
				})
			})
		}
	}
}

func TestForeignHostForbidsTheFirstBind(t *testing.T) {
	run(t, nil, probeFirst, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Standby, netip.Addr{}))
		b.hear(vip4.Addr(), foreignMAC)
		b.host.set(func(h *fakeHost) { h.owners[vip4.Addr()] = foreignMAC })
		assert.True(t, e.fitness().Wait, "before anything is reported")
		err := e.decide(election.Serve, nodeA)
		require.ErrorContains(t, err, "refused: 10.77.0.100 is claimed by "+foreignMAC)
		assert.NotContains(t, b.host.take(), "add 10.77.0.100/32 2")
		require.NoError(t, e.decide(election.Standby, netip.Addr{}))
		time.Sleep(time.Second) // the lease, by whose end every member has been heard
		synctest.Wait()
		assert.True(t, e.fitness().Out)
		assert.Contains(t, e.fitness().Reason, "refused: 10.77.0.100 is claimed by")
		b.host.set(func(h *fakeHost) { clear(h.owners) })
		time.Sleep(time.Second)
		synctest.Wait()
		assert.False(t, e.fitness().Out, "nobody claims it any more")
		require.NoError(t, e.decide(election.Serve, nodeA))
	})
}

func TestFirstBindWaitsNoLongerThanTheAddressIsClaimed(t *testing.T) {
	run(t, func(h *fakeHost) { h.owners[vip4.Addr()] = foreignMAC }, probeFirst, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Standby, netip.Addr{}))
		for range 60 {
			time.Sleep(time.Second)
			synctest.Wait()
			assert.True(t, e.fitness().Out || e.fitness().Wait, "it goes on answering")
		}
		assert.Len(t, b.Status()[0].Conflicts, 1)
		b.host.set(func(h *fakeHost) { clear(h.owners) })
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, election.Fitness{}, e.fitness(), "several probes had no answer")
		assert.Empty(t, b.Status()[0].Conflicts)
	})
}

// Nodes that are moved to another kind of election one by one: those on the list that were never heard may hold the address
// by the former one.
func TestMemberThatIsInNoElectionForbidsTheFirstBind(t *testing.T) {
	answers := func(h *fakeHost) { h.owners[nodeB], h.owners[vip4.Addr()] = memberMAC, memberMAC }
	run(t, answers, func(in *entry) { probeFirst(in) }, func(t *testing.T, b *bench) {
		e := <-b.electors
		e.mu.Lock()
		e.status.Members = []election.Member{{Address: nodeA, Self: true}, {Address: nodeB, State: election.Initialize}}
		e.mu.Unlock()
		require.NoError(t, e.decide(election.Standby, netip.Addr{}))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.True(t, e.fitness().Out)
		assert.ErrorContains(t, e.decide(election.Serve, nodeA), "refused: 10.77.0.100 is claimed by "+memberMAC)
		require.NoError(t, e.decide(election.Standby, netip.Addr{}))
		b.host.set(func(h *fakeHost) { delete(h.owners, vip4.Addr()) })
		time.Sleep(time.Second)
		synctest.Wait()
		require.NoError(t, e.decide(election.Serve, nodeA))
	})
}

func TestForeignHostDoesNotDelayATakeover(t *testing.T) {
	run(t, nil, probeFirst, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Standby, netip.Addr{}))
		require.NoError(t, e.decide(election.Standby, nodeB))
		b.hear(vip4.Addr(), foreignMAC)
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Len(t, b.Status()[0].Conflicts, 1)
		assert.False(t, e.fitness().Out)
		require.NoError(t, e.decide(election.Serve, nodeA))
	})
}

func TestForeignHostIsYieldedTo(t *testing.T) {
	yield := func(in *entry) { in.Yield = true }
	run(t, nil, yield, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Serve, nodeA))
		b.hear(vip4.Addr(), foreignMAC)
		time.Sleep(time.Second) // the lease, by whose end every member has been heard
		synctest.Wait()
		assert.True(t, e.fitness().Out)
		assert.Contains(t, e.fitness().Reason, "yielded: 10.77.0.100 is claimed by "+foreignMAC)
		time.Sleep(foreignForget)
		synctest.Wait()
		assert.False(t, e.fitness().Out)
	})
}

func TestShortElectionWaitsForTheProbesBeforeTheFirstBind(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lease time.Duration
		bound []Binding
		want  bool
	}{
		{name: "the election is shorter than the probes", lease: 20 * time.Millisecond, want: true},
		{name: "the election is longer", lease: 290 * time.Millisecond},
		{name: "an earlier run has left the address", lease: 20 * time.Millisecond, bound: []Binding{{eth0, vip4}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, func(h *fakeHost) { h.bound = tt.bound }, func(in *entry) {
				in.ProbeFirst, in.Lease = true, tt.lease
			}, func(t *testing.T, b *bench) {
				e := <-b.electors
				synctest.Wait()
				assert.Equal(t, tt.want, e.fitness().Out)
				time.Sleep(probeWindow)
				synctest.Wait()
				assert.False(t, e.fitness().Out)
			})
		})
	}
}

func TestAddressOwnerIsWarnedAboutOnce(t *testing.T) {
	run(t, nil, nil, func(t *testing.T, b *bench) {
		e := <-b.electors
		e.mu.Lock()
		e.status.Members = []election.Member{{Address: nodeB, Priority: 255, State: election.Active}}
		e.mu.Unlock()
		require.NoError(t, e.decide(election.Standby, nodeB))
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, 1, strings.Count(b.log.String(), "address owner (priority 255)"))
		assert.Contains(t, b.log.String(), nodeB.String())
	})
}

func TestForeignHostIsLoggedOnceWithItsMAC(t *testing.T) {
	run(t, nil, nil, func(t *testing.T, b *bench) {
		<-b.electors
		for range 20 {
			b.hear(vip4.Addr(), foreignMAC)
			time.Sleep(time.Second)
		}
		assert.Equal(t, 1, strings.Count(b.log.String(), "mac="+foreignMAC))
		assert.Contains(t, b.log.String(), "level=WARN")
	})
}

// A rival of whose advertisements none arrives is heard by its announcement.
func TestHolderAnnouncesAfterAMemberThatWillYield(t *testing.T) {
	below := netip.MustParseAddr("10.77.0.2")
	for name, tt := range map[string]struct {
		rival      netip.Addr
		own, other uint8
		passing    bool
		want       int // announcements
	}{
		"lower address":                 {rival: below, own: 100, other: 100, want: 1 + reannounceRounds},
		"lower priority":                {rival: nodeB, own: 101, other: 100, want: 1 + reannounceRounds},
		"a priority that was not heard": {rival: below, own: 100, want: 1 + reannounceRounds},
		"higher priority":               {rival: below, own: 100, other: 101},
		"higher address":                {rival: nodeB, own: 100, other: 100},
		"about to get the address":      {rival: below, own: 101, other: 100, passing: true},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(h *fakeHost) { h.owners[tt.rival] = memberMAC }, func(in *entry) { in.Lease = 290 * time.Millisecond }, func(t *testing.T, b *bench) {
				e := <-b.electors
				e.mu.Lock()
				e.status.Members = []election.Member{{Address: tt.rival, Priority: tt.other, State: election.Active}, {Address: nodeA, Self: true, Priority: tt.own}}
				e.mu.Unlock()
				require.NoError(t, e.decide(election.Serve, nodeA))
				time.Sleep(30 * time.Second) // the announcement of the takeover is over, and the members are known
				if tt.passing {
					require.NoError(t, e.tell(quiet))
				}
				b.host.take()
				b.hear(vip4.Addr(), memberMAC)
				time.Sleep(time.Second)
				synctest.Wait()
				n := 0
				for _, what := range b.host.take() {
					if what == "announce 2" {
						n++
					}
				}
				assert.Equal(t, tt.want, n)
			})
		})
	}
}

// Another holder in each report, owners that nobody knows, foreign hosts: what others bring about is bounded in the log.
func TestLogIsBoundedUnderAFlood(t *testing.T) {
	run(t, nil, nil, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Standby, nodeB))
		for i := range 500 {
			foreign := netip.AddrFrom4([4]byte{10, 9, byte(i >> 8), byte(i)})
			e.mu.Lock()
			e.status.Members = []election.Member{{Address: foreign, State: election.Active, Priority: ownerPriority}}
			e.mu.Unlock()
			require.NoError(t, e.decide(election.Standby, foreign))
			b.hear(vip4.Addr(), fmt.Sprintf("02:00:00:01:%02x:%02x", i>>8, i&255))
			time.Sleep(10 * time.Millisecond)
		}
		assert.LessOrEqual(t, strings.Count(b.log.String(), "\n"), 50, "lines")
		b.host.mu.Lock()
		probes := len(b.host.probed)
		b.host.mu.Unlock()
		assert.LessOrEqual(t, probes, 100)
	})
}
