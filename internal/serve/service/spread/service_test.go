package spread

import (
	"errors"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/spreadtables"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/members/slots"
)

// bubble runs a test in virtual time.
func inBubble(t *testing.T, cfg setup, test func(*testing.T, *bench)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) { test(t, newBench(t, cfg)) })
}

// settle is when the members are known, and tick when a change has been seen.
const (
	settle = 450 * time.Millisecond
	tick   = interval + 10*time.Millisecond
)

// What is asked before the first term is as the schema says: no list is missing, and it says why nothing is spread.
func TestServiceBeforeItsFirstTermSaysSo(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		got := b.service.Status().Spread
		assert.NotEmpty(t, got.Problem)
		assert.NotNil(t, got.Members)
		require.Len(t, got.Tables, 1)
		assert.NotNil(t, got.Tables[0].Shares)
		assert.Equal(t, []config.SpreadPort{{Protocol: "tcp", Port: 9443, Target: 6443}}, got.Tables[0].Ports)
		busy, _ := b.service.Draining()
		assert.False(t, busy)
	})
}

func TestServiceSpreadsOverThoseThatAreHeard(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.member(12, true)
		b.member(13, true)
		b.begin()
		time.Sleep(tick)
		assert.Zero(t, b.host.plane("api").applied, "what an earlier run has left goes on until the members are known")
		assert.Nil(t, b.elector.own())
		time.Sleep(settle)
		p := b.host.plane("api")
		assert.Equal(t, 1, p.applied)
		assert.Equal(t, map[string]int{"10.77.0.11 fit": 40, "10.77.0.12 fit": 40, "10.77.0.13 fit": 40}, b.shares())
		assert.Equal(t, []netip.Addr{addr(11)}, p.cfg.Self)
		assert.Equal(t, "02:00:00:00:00:01", p.cfg.Members[1].MAC.String())
		assert.Equal(t, uint16(6443), p.cfg.Ports[0].Target)
		own := b.elector.own()
		require.NotNil(t, own)
		assert.Equal(t, []election.SpreadPort{{Protocol: 6, Port: 9443, Healthy: true}}, own.Ports)
		assert.Equal(t, [6]byte{2, 0, 0, 0, 0, 11}, own.MAC)
		time.Sleep(10 * time.Second)
		assert.Equal(t, 1, b.host.plane("api").applied, "what is the same is not done again")
		assert.Equal(t, 1, b.elector.times())
		assert.Zero(t, b.host.questions())
		time.Sleep(3 * time.Minute)
		assert.Equal(t, 4, b.host.plane("api").renewed)
		assert.WithinDuration(t, time.Now().Add(lifetime), b.service.Until(), renewEvery)
	})
}

func TestServiceMendsTablesThatSomebodyDeletes(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.begin()
		time.Sleep(settle)
		b.host.delete("api")
		time.Sleep(lookEvery + tick)
		assert.False(t, b.host.plane("api").deleted)
	})
}

// TestServiceTriesAgainWhatTheKernelRefused: nobody knows what it has then, also where the same is wanted as before.
func TestServiceTriesAgainWhatTheKernelRefused(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		breaks := func(err error) {
			b.host.mu.Lock()
			defer b.host.mu.Unlock()
			b.host.broken = err
		}
		b.begin()
		time.Sleep(settle)
		require.Equal(t, 1, b.host.plane("api").applied)
		breaks(errors.New("busy"))
		time.Sleep(lookEvery + tick)
		assert.Contains(t, b.service.Status().Spread.Problem, "busy")
		breaks(nil)
		time.Sleep(retryAfter + tick)
		assert.Equal(t, 2, b.host.plane("api").applied)
		assert.Empty(t, b.service.Status().Spread.Problem)
	})
}

// TestServiceNodeThatIsOneTooMany sends on what it receives, for as many members as there can be.
func TestServiceNodeThatIsOneTooMany(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		for n := byte(1); n <= slots.Most; n++ {
			b.member(n, true)
		}
		b.begin()
		time.Sleep(settle)
		p := b.host.plane("api")
		assert.Equal(t, []netip.Addr{addr(11)}, p.cfg.Self, "without its own address its tables do nothing")
		assert.Len(t, p.cfg.Members, slots.Most)
		assert.Equal(t, []instance.SpreadMember{{Address: addr(11), Self: true, Node: "n1", Weight: 1}}, b.service.Status().Spread.LeftOut)
		assert.Equal(t, slots.Most, b.service.Status().Spread.Tables[0].Fit)
		assert.False(t, slices.ContainsFunc(p.cfg.Members, func(m spreadtables.MemberAt) bool { return m.Self }))
	})
}

func TestServiceMemberThatIsNotFitKeeps(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.member(12, true)
		b.begin()
		time.Sleep(settle)
		b.member(12, false)
		b.elector.changed <- struct{}{}
		synctest.Wait()
		assert.Equal(t, map[string]int{"10.77.0.11 fit": 120, "10.77.0.12 keeps": 0}, b.shares())
		table := b.host.plane("api").cfg.Slots
		assert.Contains(t, table.Second, uint8(1), "its connections are found")
		b.member(12, true)
		time.Sleep(tick)
		assert.Equal(t, map[string]int{"10.77.0.11 fit": 60, "10.77.0.12 fit": 60}, b.shares())
	})
}

func TestServiceNodeThatIsNotFitSaysSo(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.member(12, true)
		b.begin()
		time.Sleep(settle)
		b.mu.Lock()
		b.ready = instance.Readiness{Reason: "drained by an operator"}
		b.mu.Unlock()
		time.Sleep(tick)
		assert.Equal(t, map[string]int{"10.77.0.11 keeps": 0, "10.77.0.12 fit": 120}, b.shares())
		assert.False(t, b.elector.own().Ports[0].Healthy)
		assert.Equal(t, "drained by an operator", b.service.Status().Spread.Tables[0].Shares[0].Why)
		b.member(12, false)
		time.Sleep(tick)
		assert.Equal(t, 120, nobody(b.host.plane("api").cfg.Slots), "the receiver serves itself")
	})
}

func TestServiceSilentMember(t *testing.T) {
	tests := []struct {
		name  string
		there bool
		want  string
		slots int
	}{
		{"its host answers", true, "keeps", 0},
		{"its host is silent, too", false, "dead", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
				b.member(12, true)
				b.begin()
				time.Sleep(settle)
				b.host.set(addr(12), tt.there)
				b.elector.silence(addr(12))
				time.Sleep(300 * time.Millisecond)
				assert.Equal(t, 60, b.shares()["10.77.0.12 fit"])
				time.Sleep(150 * time.Millisecond)
				assert.Equal(t, map[string]int{"10.77.0.11 fit": 120, "10.77.0.12 " + tt.want: 0}, b.shares(), "within 0.45 s")
				if !tt.there {
					assert.NotContains(t, b.host.plane("api").cfg.Slots.Second, uint8(1), "nothing is sent to the dead")
				}
				time.Sleep(time.Second)
				assert.Less(t, b.host.questions(), 12)
				b.elector.mu.Lock()
				delete(b.elector.frozen, addr(12))
				b.elector.mu.Unlock()
				time.Sleep(tick)
				assert.Equal(t, 60, b.shares()["10.77.0.12 fit"], "it is back")
			})
		})
	}
}

// A member that is restarted says good-bye, and then for a while not that it spreads. Its connections are its own throughout.
func TestServiceMemberThatIsRestartedKeeps(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.member(12, true)
		b.begin()
		time.Sleep(settle)
		b.elector.remove(addr(12))
		time.Sleep(4 * time.Minute)
		assert.Contains(t, b.shares(), "10.77.0.12 keeps", "its kernel goes on")
		b.elector.set(election.Member{Address: addr(12)})
		time.Sleep(time.Second)
		assert.Contains(t, b.shares(), "10.77.0.12 keeps")
		b.member(12, true)
		time.Sleep(tick)
		assert.Contains(t, b.shares(), "10.77.0.12 fit")
		b.elector.set(election.Member{Address: addr(12)})
		time.Sleep(forgetDead + time.Second)
		assert.Equal(t, map[string]int{"10.77.0.11 fit": 120}, b.shares(), "it does not spread any more")
	})
}

// Where all nodes are restarted at once, none has said yet that it spreads when the first one makes its table.
func TestServiceMemberThatIsAboutToSpreadKeeps(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.host.set(addr(12), true)
		b.elector.set(election.Member{Address: addr(12), Fit: new(false)})
		b.elector.set(election.Member{Address: addr(13)}) // with VRRP alone
		b.begin()
		time.Sleep(settle)
		assert.Equal(t, map[string]int{"10.77.0.11 fit": 120, "10.77.0.12 keeps": 0}, b.shares())
		all := slots.Make([]slots.Member{{Address: addr(11), Condition: slots.Fit, Weight: 1}, {Address: addr(12), Condition: slots.Fit, Weight: 1}}, nil)
		table := b.host.plane("api").cfg.Slots
		for slot, owner := range all.Owner {
			require.True(t, owner == 0 || table.Second[slot] == owner, "its connections are found")
		}
		time.Sleep(startTime)
		assert.Equal(t, map[string]int{"10.77.0.11 fit": 120}, b.shares(), "it does not spread")
	})
}

// TestServiceDeadMemberIsForgotten for good, also while the election shows what it has said last.
func TestServiceDeadMemberIsForgotten(t *testing.T) {
	late := func(e *fakeElector, a netip.Addr) { e.silence(a); time.Sleep(forgetSilent - forgetDead) }
	for _, goes := range []func(*fakeElector, netip.Addr){(*fakeElector).remove, (*fakeElector).silence, late} {
		for _, listed := range []bool{false, true} {
			cfg, want := spreadOne(), map[string]int{"10.77.0.11 fit": 120}
			if listed {
				cfg.Spread.Members = []netip.Addr{addr(12), addr(11)}
				want["10.77.0.12 dead"] = 0
			}
			inBubble(t, cfg, func(t *testing.T, b *bench) {
				b.member(12, true)
				b.begin()
				time.Sleep(settle)
				goes(b.elector, addr(12))
				b.host.set(addr(12), false)
				time.Sleep(forgetDead - time.Second)
				assert.Contains(t, b.shares(), "10.77.0.12 dead")
				time.Sleep(2 * time.Second)
				assert.Equal(t, want, b.shares())
				applied := b.host.plane("api").applied
				time.Sleep(3 * forgetDead)
				assert.Equal(t, want, b.shares())
				assert.Equal(t, applied, b.host.plane("api").applied, "it does not come back")
			})
		}
	}
}

// TestServiceSilentMemberIsNeverDead while its host lives, however long its keepvip is silent: the connections to it would be ended.
func TestServiceSilentMemberIsNeverDead(t *testing.T) {
	for via, cfg := range map[string]setup{"direct": spreadOne(), "masquerade": masquerading()} {
		t.Run(via, func(t *testing.T) {
			f := &fakeFollowers{wanted: true}
			cfg.followers = f
			inBubble(t, cfg, func(t *testing.T, b *bench) {
				b.elector.set(election.Member{Address: addr(11), Self: true, Node: "n1", State: election.Active})
				b.member(12, true)
				b.begin()
				time.Sleep(settle)
				b.elector.silence(addr(12))
				for end := time.Now().Add(forgetSilent + 3*forgetDead); time.Now().Before(end); time.Sleep(interval) {
					require.NotContains(t, b.shares(), "10.77.0.12 dead")
					_, _, newest := f.look()
					for _, m := range newest.Members {
						require.NotEqual(t, slots.Dead, m.Ports[0].Condition, "%s, as followers are told", m.Address)
					}
				}
				assert.Equal(t, map[string]int{"10.77.0.11 fit": 120}, b.shares(), "it had its time")
				assert.Empty(t, b.host.plane("api").ended)
				assert.Empty(t, b.host.plane("api").endedOwn)
			})
		})
	}
}

func TestServiceMembersInTheOrderOfTheList(t *testing.T) {
	cfg := spreadOne()
	cfg.Spread.Members = []netip.Addr{addr(13), addr(12), addr(11)}
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		b.member(12, true)
		b.member(14, true) // not listed
		b.begin()
		time.Sleep(settle)
		shares := b.service.Status().Spread.Tables[0].Shares
		require.Len(t, shares, 3)
		assert.Equal(t, instance.SpreadShare{Address: addr(13), Condition: "dead", Why: "it was never heard"}, shares[0])
		assert.Equal(t, []netip.Addr{addr(12), addr(11)}, []netip.Addr{shares[1].Address, shares[2].Address})
		cfg.Spread.Members = []netip.Addr{addr(12), addr(13)}
		b.reconfigure(cfg)
		synctest.Wait()
		assert.Equal(t, "10.77.0.11, the own address on eth0, is not among spread.members: add it there, on all nodes", b.service.Status().Spread.Problem)
		assert.Nil(t, b.elector.own(), "the others go by tables without it")
	})
}

// While one node after the other is reloaded some spread a port that others do not know yet.
func TestServiceMemberThatSpreadsSomeOfThePortsKeeps(t *testing.T) {
	cfg := spreadOne()
	cfg.Spread.Ports = append(cfg.Spread.Ports, config.SpreadPort{Protocol: config.ProtocolTCP, Port: 5000, Target: 6443})
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		b.member(12, true)
		b.member(13, true)
		m := election.Member{Address: addr(13), Spread: &election.Spread{Fit: true, Weight: 1, Ports: []election.SpreadPort{{Protocol: 6, Port: 1, Healthy: true}}}}
		b.elector.set(m)
		b.begin()
		time.Sleep(settle)
		assert.Equal(t, map[string]int{"10.77.0.11 fit": 120, "10.77.0.12 keeps": 0, "10.77.0.13 dead": 0}, b.shares())
	})
}

func TestServicePortsWithChecksOfTheirOwn(t *testing.T) {
	cfg := spreadOne()
	cfg.Spread.Ports = append(cfg.Spread.Ports, config.SpreadPort{Protocol: config.ProtocolTCP, Port: 5000, Target: 5001, Check: "registry"})
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		b.member(12, true)
		m := election.Member{Address: addr(12), Spread: said(true)}
		m.Spread.Ports = append(m.Spread.Ports, election.SpreadPort{Protocol: 6, Port: 5000, Healthy: true})
		b.elector.set(m)
		b.begin()
		time.Sleep(settle)
		status := b.service.Status().Spread
		assert.Equal(t, map[string]int{"10.77.0.11 fit": 60, "10.77.0.12 fit": 60}, shares(status, 0))
		assert.Equal(t, map[string]int{"10.77.0.11 keeps": 0, "10.77.0.12 fit": 120}, shares(status, 1))
		assert.Equal(t, "the check registry fails", status.Tables[1].Shares[0].Why)
		assert.False(t, b.elector.own().Ports[1].Healthy)
		assert.Equal(t, uint16(5001), b.host.plane("api.registry").cfg.Ports[0].Target)
		b.mu.Lock()
		b.good["registry"] = true
		b.mu.Unlock()
		time.Sleep(tick)
		assert.True(t, b.elector.own().Ports[1].Healthy)
		assert.Equal(t, map[string]int{"10.77.0.11 fit": 60, "10.77.0.12 fit": 60}, shares(b.service.Status().Spread, 1))
	})
}

func TestServiceReconfigure(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.member(12, true)
		b.begin()
		time.Sleep(settle)
		next := spreadOne()
		next.Spread.Weight = 3
		next.Spread.Ports = append(next.Spread.Ports, config.SpreadPort{Protocol: config.ProtocolUDP, Port: 9443, Target: 53})
		b.reconfigure(next)
		synctest.Wait()
		p := b.host.plane("api")
		assert.Len(t, p.cfg.Ports, 2)
		assert.False(t, p.closed)
		assert.Equal(t, uint8(3), b.elector.own().Weight)
		assert.Len(t, b.elector.own().Ports, 2)
		next.Spread.Ports = []config.SpreadPort{{Protocol: config.ProtocolTCP, Port: 9443, Target: 6443, Check: "other"}}
		b.reconfigure(next)
		synctest.Wait()
		assert.True(t, b.host.plane("api").closed)
		assert.Equal(t, 1, b.host.plane("api.other").applied)
	})
}

// The connections to an address that was not spread until now are all the holder's.
func TestServiceTurnedOnByAReload(t *testing.T) {
	for _, self := range []bool{true, false} {
		cfg := spreadOne()
		cfg.reloaded = true
		inBubble(t, cfg, func(t *testing.T, b *bench) {
			b.member(12, true)
			m := election.Member{Address: addr(12), Node: "n2", Spread: said(true), Fit: new(true), State: election.Backup}
			if !self {
				m.State = election.Active
			}
			b.elector.set(m)
			if self {
				b.elector.set(election.Member{Address: addr(11), Self: true, State: election.Active})
			}
			b.begin()
			time.Sleep(settle)
			require.NotNil(t, b.elector.own())
			require.NotNil(t, b.host.plane("api").cfg.Slots)
			holder := uint8(1)
			if self {
				holder = 0
			}
			table := b.host.plane("api").cfg.Slots
			for slot := range table.Owner {
				want := holder
				if table.Owner[slot] == holder {
					want = slots.None
				}
				require.Equal(t, want, table.Second[slot])
			}
		})
	}
}

// A member whose tables lack the holder cannot give back what belongs to a connection there, and would end the connection. When it says that its tables
// have the holder is up to it: it may stand still for any time.
func TestServiceHolderSendsNothingToAMemberThatLacksIt(t *testing.T) {
	cfg := spreadOne()
	cfg.reloaded = true
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		lacks := func(n byte, lacks bool) {
			b.member(n, true)
			s := said(true)
			s.LacksHolder = lacks
			b.elector.set(election.Member{Address: addr(n), Spread: s, Fit: new(true), State: election.Backup})
		}
		owned := func() []int {
			time.Sleep(tick)
			owned, _ := b.host.plane("api").cfg.Slots.Owned(3)
			return owned
		}
		b.elector.set(election.Member{Address: addr(11), Self: true, State: election.Active})
		lacks(12, true)
		lacks(13, true)
		b.begin()
		time.Sleep(time.Hour)
		require.Nil(t, b.host.plane("api").cfg.Slots, "the holder serves everything")
		assert.False(t, b.elector.own().LacksHolder)
		assert.Contains(t, b.service.Status().Spread.Problem, "members that have not heard how this node spreads get no new connections: 10.77.0.12 and 10.77.0.13: let the members' port in there")

		lacks(13, false)
		assert.Equal(t, []int{80, 0, 40}, owned())
		lacks(12, false)
		assert.Equal(t, []int{40, 40, 40}, owned())
		assert.Empty(t, b.service.Status().Spread.Problem)
		all := b.host.plane("api").cfg.Slots
		lacks(12, true)
		assert.Equal(t, []int{80, 0, 40}, owned(), "it was started again, and stands still")
		for slot, owner := range all.Owner {
			if owner == 1 {
				require.Equal(t, uint8(1), b.host.plane("api").cfg.Slots.Second[slot], "it may have connections from before")
			}
		}
	})
}

// A member says that it lacks the holder until it has heard how that one spreads.
func TestServiceSaysWhetherItLacksTheHolder(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		lacks := func() bool { time.Sleep(tick); return b.elector.own().LacksHolder }
		holds := func(n byte, s *election.Spread) {
			b.elector.set(election.Member{Address: addr(n), State: election.Active, Spread: s, Fit: new(true)})
		}
		b.member(13, true)
		b.begin()
		time.Sleep(settle)
		assert.True(t, lacks(), "no holder is known")
		holds(12, nil)
		assert.True(t, lacks())
		holds(12, said(true))
		assert.False(t, lacks())
		b.member(12, true)
		assert.False(t, lacks(), "while there is no holder, none is missing")
		holds(14, nil)
		assert.True(t, lacks())
		b.elector.set(election.Member{Address: addr(14), State: election.Silent})
		b.elector.set(election.Member{Address: addr(11), Self: true, State: election.Active})
		assert.False(t, lacks())
	})
}

// With masquerade a node gives nothing back to a holder that spreads directly already, and none of it goes to members that lack a holder.
func TestServiceMasqueradeLacksTheHolder(t *testing.T) {
	cfg := spreadOne()
	cfg.Spread.Via = config.ViaMasquerade
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		b.elector.set(election.Member{Address: addr(12), State: election.Active, Spread: said(true), Fit: new(true)})
		b.begin()
		time.Sleep(settle)
		assert.True(t, b.elector.own().LacksHolder)
		m := said(true)
		m.LacksHolder = true
		b.elector.set(election.Member{Address: addr(12), State: election.Backup, Spread: m, Fit: new(true)})
		b.elector.set(election.Member{Address: addr(11), Self: true, State: election.Active})
		time.Sleep(tick)
		owned, _ := b.host.plane("api").cfg.Slots.Owned(2)
		assert.Equal(t, []int{60, 60}, owned)
	})
}

// As while one node after the other is reloaded, the holder last.
func TestServiceHolderThatSpreadsLaterHasItsConnections(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.member(13, true)
		b.elector.set(election.Member{Address: addr(12), State: election.Active})
		b.begin()
		time.Sleep(settle)
		assert.Equal(t, map[string]int{"10.77.0.11 fit": 60, "10.77.0.13 fit": 60}, b.shares())
		time.Sleep(time.Minute)
		b.host.set(addr(12), true)
		b.elector.set(election.Member{Address: addr(12), State: election.Active, Spread: said(true), Fit: new(true)})
		time.Sleep(tick)
		table := b.host.plane("api").cfg.Slots
		for slot := range table.Owner {
			require.True(t, table.Owner[slot] == 1 || table.Second[slot] == 1)
		}
	})
}

func TestServiceEnd(t *testing.T) {
	tests := []struct {
		name        string
		stays       bool
		connections int
		left        bool
	}{
		{"a restart with connections", true, 3, true},
		{"a stop without", true, 0, false},
		{"no longer in the configuration", false, 3, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := spreadOne()
			cfg.stays = tt.stays
			inBubble(t, cfg, func(t *testing.T, b *bench) {
				b.begin()
				time.Sleep(settle)
				b.host.mu.Lock()
				b.host.planes["api"].connections = tt.connections
				b.host.mu.Unlock()
				b.service.End()
				require.NoError(t, b.service.Close())
				p := b.host.plane("api")
				assert.Equal(t, []bool{tt.left, !tt.left}, []bool{p.left, p.closed})
				assert.Nil(t, b.elector.own())
			})
		})
	}
}

func TestServiceWithoutTheKernelsHelp(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.member(12, true)
		b.host.broken = errors.New("no nftables")
		b.begin()
		time.Sleep(settle)
		assert.Nil(t, b.elector.own(), "nobody sends packets to a node that does not translate them")
		assert.Equal(t, "no nftables", b.service.Status().Spread.Problem)
		time.Sleep(10 * time.Second)
		b.host.mu.Lock()
		assert.LessOrEqual(t, b.host.refuse, 12, "each time is a transaction")
		b.host.broken = nil
		b.host.mu.Unlock()
		time.Sleep(retryAfter + tick)
		assert.NotNil(t, b.elector.own())
		assert.Empty(t, b.service.Status().Spread.Problem)
	})
}

// A change of nftables can take seconds where others change theirs. Whoever tells of a change of the host also hears of checks that fail.
func TestServiceHostChangesWhileTheKernelIsBusy(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.host.stuck = make(chan struct{})
		b.begin()
		time.Sleep(settle)
		for _, mac := range []string{"02:00:00:00:00:0c", "02:00:00:00:00:0d"} {
			b.service.HostChanged(instance.Place{Index: 2, Name: "eth0", Source: addr(11), MAC: mac})
		}
		assert.NotNil(t, b.service.Status().Spread, "it can be asked for, too")
		close(b.host.stuck)
		time.Sleep(tick)
		require.NotNil(t, b.elector.own())
		assert.Equal(t, [6]byte{2, 0, 0, 0, 0, 13}, b.elector.own().MAC, "the newest counts")
	})
}

// Whoever calls these decides about the address.
func TestServiceCallsDoNotWaitForTheKernel(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.begin()
		time.Sleep(settle)
		require.NotNil(t, b.elector.own())
		b.host.mu.Lock()
		b.host.stuck = make(chan struct{})
		b.host.mu.Unlock()
		b.member(12, true)
		time.Sleep(time.Second)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			b.service.Drain(time.Now().Add(time.Minute))
			b.reconfigure(spreadOne())
			b.service.HostChanged(instance.Place{})
			b.service.End()
			b.service.Begin(instance.Term{Elector: b.elector})
			b.service.End()
		}()
		synctest.Wait()
		select {
		case <-ended:
		default:
			t.Error("one of them waits")
		}
		assert.Nil(t, b.elector.own(), "the others know at once that this node does not spread")
		close(b.host.stuck)
		time.Sleep(settle)
		assert.Nil(t, b.elector.own(), "nothing of an earlier term is said later")
	})
}

// The kernel may take seconds to go through all that it tracks.
func TestServiceNoticesADeadMemberWhileConnectionsAreCounted(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.host.dump = make(chan struct{})
		b.member(12, true)
		b.begin()
		time.Sleep(settle)
		b.host.set(addr(12), false)
		b.elector.silence(addr(12))
		time.Sleep(450 * time.Millisecond)
		assert.Equal(t, map[string]int{"10.77.0.11 fit": 120, "10.77.0.12 dead": 0}, b.shares())
		b.service.Drain(time.Now().Add(time.Minute))
		busy, _ := b.service.Draining()
		assert.True(t, busy, "nobody knows yet")
		close(b.host.dump)
		time.Sleep(countDraining + tick)
		busy, _ = b.service.Draining()
		assert.False(t, busy)
	})
}

func TestServiceDrainWaitsForConnections(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.begin()
		time.Sleep(settle)
		set := func(n int) {
			b.host.mu.Lock()
			defer b.host.mu.Unlock()
			b.host.planes["api"].connections = n
		}
		set(2)
		b.service.Drain(time.Now().Add(time.Minute))
		busy, _ := b.service.Draining()
		assert.True(t, busy)
		set(0)
		time.Sleep(time.Second)
		busy, _ = b.service.Draining()
		assert.False(t, busy)
	})
}

func TestServiceElectorThatKnowsNoMembers(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.service.Begin(instance.Term{Elector: struct{ instance.Elector }{}})
		synctest.Wait()
		assert.Equal(t, errNoSpreader.Error(), b.service.Status().Spread.Problem)
	})
}

func TestMakeOfNoMembersOwnsNothing(t *testing.T) {
	assert.Empty(t, heldBy(nil).slots)
	assert.Equal(t, 120, nobody(slots.Make(nil, nil)))
}
