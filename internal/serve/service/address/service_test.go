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
	"github.com/keepvip/keepvip/internal/serve/instance"
)

func TestActiveBindsThenAnnouncesBeforeAnythingElse(t *testing.T) {
	run(t, nil, nil, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Standby, netip.Addr{}))
		require.NoError(t, e.decide(election.Serve, nodeA))
		assert.Equal(t, []string{"add 10.77.0.100/32 2", "add fd77::100/128 2", "announce 2"}, b.host.take())
		assert.Equal(t, "active", b.Status()[0].State)
		time.Sleep(time.Minute)
		synctest.Wait()
		did := b.host.take()
		assert.Contains(t, did, "announce 2", "the schedule goes on")
		assert.Contains(t, did, "add 10.77.0.100/32 2", "the lifetime is renewed")
	})
}

func TestStopLeavesNothingBehind(t *testing.T) {
	run(t, nil, nil, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Serve, nodeA))
		b.host.take()
		b.cancel()
		<-b.done
		assert.Equal(t, []string{"del 10.77.0.100/32 2", "del fd77::100/128 2"}, b.host.take())
		assert.Empty(t, b.host.bound)
	})
}

func TestLeftoverStaysWhileNobodyIsHeardAndIsAdopted(t *testing.T) {
	leftover := func(h *fakeHost) { h.bound = []Binding{{eth0, vip4}} }
	run(t, leftover, nil, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Standby, netip.Addr{}))
		b.HostChanged()
		synctest.Wait()
		assert.Empty(t, b.host.take(), "it may still be the only one that answers")
		require.NoError(t, e.decide(election.Serve, nodeA))
		assert.NotContains(t, b.host.take(), "del 10.77.0.100/32 2")
	})
}

func TestLeftoverGoesSilentlyWhenAnotherNodeIsHeard(t *testing.T) {
	leftover := func(h *fakeHost) { h.bound = []Binding{{eth0, vip4}} }
	run(t, leftover, nil, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Standby, netip.Addr{}))
		require.NoError(t, e.decide(election.Standby, nodeB))
		assert.Equal(t, []string{"del 10.77.0.100/32 2"}, b.host.take())
	})
}

func TestAddressThatSomebodyRemovesComesBack(t *testing.T) {
	run(t, nil, nil, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Serve, nodeA))
		b.host.take()
		b.host.set(func(h *fakeHost) { h.bound = []Binding{{eth0, vip6}} })
		b.HostChanged()
		synctest.Wait()
		assert.Equal(t, []string{"add 10.77.0.100/32 2", "announce 2"}, b.host.take())
		assert.Equal(t, uint64(1), b.Status()[0].Counters.Restored)
	})
}

func TestAddressThatSomebodyAddsToABackupGoes(t *testing.T) {
	run(t, nil, nil, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Standby, netip.Addr{}))
		require.NoError(t, e.decide(election.Standby, nodeB))
		b.host.set(func(h *fakeHost) { h.bound = []Binding{{eth0, vip4}, {3, vip6}} })
		b.HostChanged()
		synctest.Wait()
		assert.Equal(t, []string{"del 10.77.0.100/32 2", "del fd77::100/128 3"}, b.host.take())
	})
}

func TestBindThatFailsLeavesNothingAndTellsTheElector(t *testing.T) {
	run(t, nil, nil, func(t *testing.T, b *bench) {
		e := <-b.electors
		b.host.set(func(h *fakeHost) { h.fail = errFull })
		err := e.decide(election.Serve, nodeA)
		require.ErrorIs(t, err, errFull)
		assert.ErrorContains(t, err, "bind 10.77.0.100/32 and 1 more to eth0")
		assert.Empty(t, b.host.bound)
		require.NoError(t, e.decide(election.Standby, netip.Addr{}))
	})
}

func TestRivalIsAnsweredByAnnouncingAgain(t *testing.T) {
	run(t, nil, nil, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Serve, nodeA))
		b.host.take()
		require.NoError(t, e.hearRival())
		assert.Equal(t, []string{"announce 2"}, b.host.take())
		time.Sleep(50 * time.Millisecond)
		synctest.Wait()
		assert.Equal(t, []string{"announce 2"}, b.host.take())
	})
}

// A loop that spun would keep time from passing in the bubble, and the test from ending.
func TestLoopSleepsAfterItsLease(t *testing.T) {
	run(t, nil, nil, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Serve, nodeA))
		require.NoError(t, e.decide(election.Standby, nodeB))
		b.host.take()
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.Empty(t, b.host.take())
	})
}

func TestElectionBeginsAnewAtAnotherPlaceAndFollowsAName(t *testing.T) {
	run(t, nil, nil, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Serve, nodeA))
		b.host.take()
		b.host.set(func(h *fakeHost) { h.place.Name = "lan0" })
		b.HostChanged()
		synctest.Wait()
		assert.Empty(t, b.host.take(), "a new name is no reason")
		assert.Equal(t, "lan0", b.Status()[0].Interface)
		b.host.set(func(h *fakeHost) { h.place.Index = 7 })
		b.HostChanged()
		<-e.ended
		next := <-b.electors
		assert.Equal(t, []string{"del 10.77.0.100/32 2", "del fd77::100/128 2"}, b.host.take())
		require.NoError(t, next.decide(election.Serve, nodeA))
		assert.Contains(t, b.host.take(), "add 10.77.0.100/32 7")
	})
}

func TestAddressIsAnnouncedAgainWhenTheLinkHasChanged(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*instance.Place)
		itself []string // announced by a node that does not hold the address
	}{
		"another MAC":                {func(p *instance.Place) { p.MAC = "02:00:00:00:00:77" }, []string{"announce 1"}},
		"without carrier in between": {func(p *instance.Place) { p.Stay += 2 }, nil},
	} {
		change := tt.change
		t.Run(name, func(t *testing.T) {
			run(t, nil, nil, func(t *testing.T, b *bench) {
				e := <-b.electors
				b.host.set(func(h *fakeHost) { change(&h.place) })
				b.HostChanged()
				synctest.Wait()
				assert.Equal(t, tt.itself, b.host.take(), "not the address while it is not held")
				require.NoError(t, e.decide(election.Serve, nodeA))
				b.host.take()
				b.host.set(func(h *fakeHost) { change(&h.place); h.place.Stay++ })
				b.HostChanged()
				synctest.Wait()
				assert.Equal(t, []string{"announce 2"}, b.host.take())
				assert.Empty(t, b.electors, "no new election")
			})
		})
	}
}

func TestApplyTouchesOnlyWhatItNames(t *testing.T) {
	run(t, nil, nil, func(t *testing.T, b *bench) {
		first := <-b.electors
		require.NoError(t, first.decide(election.Serve, nodeA))
		other := b.instance(func(in *entry) {
			in.Name, in.Addresses = "ingress", []netip.Prefix{netip.MustParsePrefix("10.77.0.101/32")}
		})
		b.Apply(instance.Delta{Add: []instance.Config{other}})
		second := <-b.electors
		require.NoError(t, second.decide(election.Serve, nodeA))
		b.host.take()
		b.Apply(instance.Delta{Remove: []string{"ingress"}})
		assert.Equal(t, []string{"del 10.77.0.101/32 2"}, b.host.take())
		assert.Len(t, b.Status(), 1)
	})
}

func TestAdjustChangesTheAddressesInPlace(t *testing.T) {
	adjusted := 0
	run(t, nil, nil, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Serve, nodeA))
		b.host.take()
		more := netip.MustParsePrefix("10.77.0.101/32")
		b.Apply(instance.Delta{Adjust: []instance.Config{b.instance(func(in *entry) {
			in.Addresses = []netip.Prefix{vip4, more}
			in.Adjust = func(election.Elector, instance.Place) { adjusted++ }
		})}})
		synctest.Wait()
		did := b.host.take()
		assert.Contains(t, did, "add 10.77.0.101/32 2")
		assert.Contains(t, did, "del fd77::100/128 2")
		assert.NotContains(t, did, "del 10.77.0.100/32 2")
		assert.Equal(t, 1, adjusted)
		assert.Zero(t, b.Status()[0].Counters.Restored, "nobody had taken it away")
		assert.Empty(t, b.electors, "no new election")
	})
}

func TestAnnounceNamesWhatIsNotHeld(t *testing.T) {
	run(t, nil, nil, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Standby, nodeB))
		assert.ErrorIs(t, b.Announce(), instance.ErrNotHeld)
		assert.ErrorContains(t, b.Announce("nobody"), "nobody")
		require.NoError(t, e.decide(election.Serve, nodeA))
		b.host.take()
		require.NoError(t, b.Announce("apiserver"))
		assert.Equal(t, []string{"announce 2"}, b.host.take())
	})
}

func TestPlan(t *testing.T) {
	addresses := []netip.Prefix{vip4, vip6}
	wide := netip.MustParsePrefix("10.77.0.100/24")
	tests := []struct {
		name string
		want holding
		have []Binding
		then []change
	}{
		{"nothing wanted, nothing there", holdNone, nil, nil},
		{"nothing wanted, something there", holdNone, []Binding{{eth0, vip4}, {3, vip6}}, []change{{false, Binding{eth0, vip4}}, {false, Binding{3, vip6}}}},
		{"keep what is there, but at one place only", holdKeep, []Binding{{eth0, vip4}, {3, vip4}}, []change{{false, Binding{3, vip4}}}},
		{"bind what is missing", holdBind, []Binding{{eth0, vip4}}, []change{{true, Binding{eth0, vip6}}}},
		{"move from another interface", holdBind, []Binding{{3, vip4}, {eth0, vip6}}, []change{{false, Binding{3, vip4}}, {true, Binding{eth0, vip4}}}},
		{"replace another prefix length", holdBind, []Binding{{eth0, wide}, {eth0, vip6}}, []change{{false, Binding{eth0, wide}}, {true, Binding{eth0, vip4}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := plan(tt.want, eth0, addresses, tt.have)
			assert.True(t, slices.Equal(tt.then, got), "got %v, want %v", got, tt.then)
		})
	}
}

// TestLinkOfAVirtualMACIsClearedOfWhatTheKernelHasTakenAway since a run was killed: it may be up still, which the host
// sees to.
func TestLinkOfAVirtualMACIsClearedOfWhatTheKernelHasTakenAway(t *testing.T) {
	bearing := func(h *fakeHost) {
		h.place.Bearer = instance.Bearer{Index: 7, Name: "vrrp.51", MAC: "00:00:5e:00:01:33"}
	}
	run(t, bearing, nil, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Standby, nodeB))
		b.host.set(func(h *fakeHost) { assert.Equal(t, []int{7}, h.cleared) })
		assert.Empty(t, b.host.take())
	})
}

// TestIPv6AddressWithAnotherLengthIsReplaced: the kernel keeps that length, and has neither when it is gone.
func TestIPv6AddressWithAnotherLengthIsReplaced(t *testing.T) {
	wide := func(h *fakeHost) { h.bound = []Binding{{eth0, netip.PrefixFrom(vip6.Addr(), 64)}} }
	run(t, wide, nil, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Serve, nodeA))
		b.host.set(func(h *fakeHost) { assert.Equal(t, []Binding{{eth0, vip4}, {eth0, vip6}}, h.bound) })
		assert.Contains(t, b.host.take(), "del fd77::100/64 2")
	})
}

func TestValidGrowsWithTheAddresses(t *testing.T) {
	for _, tt := range []struct {
		v4, v6 int
		want   time.Duration
	}{
		{1, 0, 4 * time.Second},
		{8, 8, 4 * time.Second},
		{32, 0, 4 * time.Second},
		{33, 0, 8 * time.Second},
		{1000, 0, time.Minute},
		{0, 90, 20 * time.Second},
		{0, 1000, 350 * time.Second},
	} {
		var in Part
		for range tt.v4 {
			in.Addresses = append(in.Addresses, vip4)
		}
		for range tt.v6 {
			in.Addresses = append(in.Addresses, vip6)
		}
		assert.Equal(t, tt.want, in.Valid(), "%d and %d", tt.v4, tt.v6)
	}
}

// A process that was frozen between its first advertisement and the bind wakes when another node may hold the address.
func TestAddressIsNotBoundAfterItsLease(t *testing.T) {
	run(t, nil, nil, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Standby, nodeB))
		e.mu.Lock()
		e.lapsed = true
		e.mu.Unlock()
		require.ErrorIs(t, e.decide(election.Serve, nodeA), errLapsed)
		assert.NotContains(t, b.host.take(), "add 10.77.0.100/32 2")
	})
}

// The link of a virtual MAC has the addresses; a leftover on the interface itself goes.
func TestAddressesAreOnTheLinkOfTheirVirtualMAC(t *testing.T) {
	bearing := func(h *fakeHost) {
		h.place.Bearer = instance.Bearer{Index: 7, Name: "vrrp.51", MAC: "00:00:5e:00:01:33"}
		h.bound = []Binding{{eth0, vip4}}
	}
	run(t, bearing, nil, func(t *testing.T, b *bench) {
		e := <-b.electors
		require.NoError(t, e.decide(election.Standby, netip.Addr{}))
		require.NoError(t, e.decide(election.Serve, nodeA))
		assert.Equal(t, []string{"del 10.77.0.100/32 2", "add 10.77.0.100/32 7", "add fd77::100/128 7", "announce 2 by vrrp.51"}, b.host.take())
		assert.Equal(t, &instance.Bearer{Index: 7, Name: "vrrp.51", MAC: "00:00:5e:00:01:33"}, b.Status()[0].Virtual)
		require.NoError(t, e.decide(election.Standby, nodeB))
		assert.Equal(t, []string{"del 10.77.0.100/32 7", "del fd77::100/128 7"}, b.host.take())
	})
}
