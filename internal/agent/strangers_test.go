package agent

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	memberMAC   = "02:00:00:00:00:0b"
	strangerMAC = "02:00:00:00:00:66"
)

func TestStrangersTellMembersFromOthers(t *testing.T) {
	virtual := vip4.Addr()
	type said struct {
		after time.Duration
		Claim
	}
	tests := []struct {
		name string
		give []said
		want []string // MACs reported
		at   time.Duration
	}{
		{name: "nobody", at: time.Second},
		{name: "a stranger, too early to say", give: []said{{0, Claim{virtual, strangerMAC, 0}}}, at: strangerGrace - 1},
		{name: "a stranger", give: []said{{0, Claim{virtual, strangerMAC, 0}}}, at: strangerGrace, want: []string{strangerMAC}},
		{name: "a member that is known", give: []said{{0, Claim{nodeB, memberMAC, 0}}, {0, Claim{virtual, memberMAC, 0}}}, at: time.Second},
		{name: "a member that is found in time", give: []said{{0, Claim{virtual, memberMAC, 0}}, {strangerGrace - 1, Claim{nodeB, memberMAC, 0}}}, at: time.Second},
		{name: "a member that is found late", give: []said{{0, Claim{virtual, memberMAC, 0}}}, at: time.Second, want: []string{memberMAC}},
		{name: "a member with two MACs", give: []said{{0, Claim{nodeB, memberMAC, 0}}, {0, Claim{nodeB, strangerMAC, 0}}, {0, Claim{virtual, strangerMAC, 0}}}, at: time.Second},
		{name: "the virtual MAC of our router", give: []said{{0, Claim{virtual, "00:00:5e:00:01:33", 51}}}, at: time.Second},
		{name: "the virtual MAC of another router", give: []said{{0, Claim{virtual, "00:00:5e:00:01:34", 52}}}, at: time.Second, want: []string{"00:00:5e:00:01:34"}},
		{name: "a stranger that goes on", give: []said{{0, Claim{virtual, strangerMAC, 0}}, {10 * time.Second, Claim{virtual, strangerMAC, 0}}}, at: 25 * time.Second, want: []string{strangerMAC}},
		{name: "a stranger that went away", give: []said{{0, Claim{virtual, strangerMAC, 0}}}, at: strangerForget},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Unix(1000, 0)
			s := newStrangers(51, time.Time{})
			require.True(t, s.setMembers(start, []netip.Addr{nodeB}))
			for _, c := range tt.give {
				s.sift(start.Add(c.after), strangerForget)
				s.hear(start.Add(c.after), c.Claim)
			}
			s.sift(start.Add(tt.at), strangerForget)
			var macs []string
			for _, c := range s.conflicts() {
				macs = append(macs, c.MAC)
				assert.Equal(t, start, c.Since)
			}
			assert.Equal(t, tt.want, macs)
		})
	}
}

func TestStrangersReportBeginAndEndOnce(t *testing.T) {
	now := time.Unix(1000, 0)
	s := newStrangers(51, time.Time{})
	stranger, _ := s.hear(now, Claim{vip4.Addr(), strangerMAC, 0})
	assert.False(t, stranger, "not known yet")
	assert.Equal(t, now.Add(strangerGrace), s.next(strangerForget))
	begun, over := s.sift(s.next(strangerForget), strangerForget)
	assert.Len(t, begun, 1)
	assert.Empty(t, over)
	begun, _ = s.sift(now.Add(time.Second), strangerForget)
	assert.Empty(t, begun)
	stranger, _ = s.hear(now.Add(2*time.Second), Claim{vip4.Addr(), strangerMAC, 0})
	assert.True(t, stranger)
	assert.Equal(t, now.Add(2*time.Second+strangerForget), s.next(strangerForget))
	_, over = s.sift(s.next(strangerForget), strangerForget)
	require.Len(t, over, 1)
	assert.Equal(t, Conflict{vip4.Addr(), strangerMAC, now, now.Add(2 * time.Second)}, over[0])
	assert.Zero(t, s.next(strangerForget))
}

func TestStrangersAskForMembersUntilTheyAreFound(t *testing.T) {
	start := time.Unix(1000, 0)
	s := newStrangers(51, time.Time{})
	require.True(t, s.setMembers(start, []netip.Addr{nodeA, nodeB}))
	var asked []time.Duration
	for range 4 {
		at := s.next(strangerForget)
		require.Len(t, s.question(at), 2)
		asked = append(asked, at.Sub(start))
	}
	assert.Equal(t, []time.Duration{20 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond}, asked)
	s.hear(start, Claim{nodeA, memberMAC, 0})
	assert.Equal(t, []netip.Addr{nodeB}, s.question(start.Add(time.Second)))
	assert.False(t, s.setMembers(start, []netip.Addr{nodeA, nodeB}))
	assert.True(t, s.setMembers(start, []netip.Addr{nodeA}))
	assert.Zero(t, s.next(strangerForget), "everybody is known")
}

func TestStrangersAreBounded(t *testing.T) {
	now := time.Unix(1000, 0)
	s := newStrangers(51, time.Time{})
	s.setMembers(now, []netip.Addr{nodeB})
	for i := range 10000 {
		mac := fmt.Sprintf("02:00:00:00:%02x:%02x", i>>8&0xff, i&0xff)
		s.hear(now, Claim{vip4.Addr(), mac, 0})
		s.hear(now, Claim{nodeB, "06" + mac[2:], 0})
	}
	assert.Len(t, s.claims, mostStrangers)
	assert.Len(t, s.known, mostMACs)
}

func TestStrangersAreDefendedAgainstOncePerInterval(t *testing.T) {
	now := time.Unix(1000, 0)
	var s strangers
	assert.True(t, s.defend(now))
	assert.False(t, s.defend(now.Add(defendEvery-1)))
	assert.True(t, s.defend(now.Add(defendEvery)))
}

func TestPatrolAsksThreeTimesThenRarely(t *testing.T) {
	start := time.Unix(1000, 0)
	p := newPatrol(start, []netip.Addr{vip4.Addr(), vip6.Addr()}, 2)
	var at []time.Duration
	for len(at) < 6 {
		now := p.next
		require.Equal(t, p.addresses, p.due(now, 0.5, false))
		at = append(at, now.Sub(start))
	}
	assert.Equal(t, []time.Duration{0, 80 * time.Millisecond, 160 * time.Millisecond, 160*time.Millisecond + probeEvery, 160*time.Millisecond + 2*probeEvery, 160*time.Millisecond + 3*probeEvery}, at)
	assert.Less(t, at[2], probeWindow)
	assert.LessOrEqual(t, 2*p.pause(1, false), 30*time.Second, "with one lost probe")
	assert.GreaterOrEqual(t, p.pause(0, false), 9*time.Second)
	assert.Equal(t, probeInConflict, p.pause(0.5, true))
	p.hurry(start.Add(at[5]))
	assert.Equal(t, start.Add(at[5]+probeInConflict), p.next)
}

func TestPatrolSpreadsManyAddresses(t *testing.T) {
	start := time.Unix(1000, 0)
	var addresses []netip.Addr
	for i := range 1000 {
		addresses = append(addresses, netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}))
	}
	p := newPatrol(start, addresses, len(addresses))
	for range firstProbes {
		require.Len(t, p.due(p.next, 0.5, false), 1000)
	}
	asked, began := map[netip.Addr]bool{}, p.next
	for range 63 {
		part := p.due(p.next, 0.5, false)
		require.LessOrEqual(t, len(part), perProbe)
		for _, a := range part {
			require.False(t, asked[a], "twice in a round")
			asked[a] = true
		}
	}
	assert.Len(t, asked, 1000)
	assert.InDelta(t, probeEvery, p.next.Sub(began), float64(time.Millisecond))
}

func TestPatrolsOfManyInstancesShareWholeSeconds(t *testing.T) {
	start := time.Unix(1000, 123_456_789)
	p := newPatrol(start, []netip.Addr{vip4.Addr()}, patrolCrowd)
	for range firstProbes {
		p.due(p.next, 0, false)
	}
	for _, jitter := range []float64{0, 0.3, 0.99} {
		before := p.next
		assert.Zero(t, before.Nanosecond())
		require.NotEmpty(t, p.due(before.Add(time.Millisecond), jitter, false))
		assert.InDelta(t, p.pause(jitter, false), p.next.Sub(before), float64(patrolTick))
		assert.LessOrEqual(t, p.next.Sub(before), p.pause(jitter, false)+time.Millisecond, "not later than alone")
	}
}

func TestClaimsThatTellNothingNewAreNotReported(t *testing.T) {
	var got []Claim
	full := true
	report := changes(func(c Claim) bool {
		if !full {
			got = append(got, c)
		}
		return !full
	})
	first, moved := Claim{Address: nodeB, MAC: memberMAC}, Claim{Address: nodeB, MAC: strangerMAC}
	assert.False(t, report(first), "nobody took it")
	full = false
	for range 3 {
		report(first)
	}
	report(moved)
	report(first)
	assert.Equal(t, []Claim{first, moved, first}, got)
}

func TestClaimsOfTheFirstLeaseWaitUntilEveryMemberIsHeard(t *testing.T) {
	start := time.Now()
	s := newStrangers(51, start.Add(3*time.Second))
	s.hear(start, Claim{Address: vip4.Addr(), MAC: memberMAC})
	begun, _ := s.sift(start.Add(time.Second), strangerForget)
	assert.Empty(t, begun, "a member that advertises once a second may not have been heard")
	begun, _ = s.sift(start.Add(3*time.Second), strangerForget)
	assert.Len(t, begun, 1)
	s.setMembers(start.Add(4*time.Second), []netip.Addr{nodeB})
	s.hear(start.Add(4*time.Second), Claim{Address: nodeB, MAC: memberMAC})
	assert.True(t, s.cleared())
	assert.False(t, s.cleared(), "told once")
	assert.Empty(t, s.conflicts())
}

// A forger invents a member with each packet. The questions for their MACs go to all hosts of the link.
func TestStrangersAskSeldomUnderAFlood(t *testing.T) {
	start := time.Now()
	s := newStrangers(51, start)
	asked := map[netip.Addr]int{}
	questions := 0
	for i := range 2500 { // 500 in a second
		now := start.Add(time.Duration(i) * 2 * time.Millisecond)
		addresses := []netip.Addr{nodeB}
		for j := max(i-62, 0); j <= i; j++ {
			addresses = append(addresses, netip.AddrFrom4([4]byte{10, 9, byte(j >> 8), byte(j)}))
		}
		s.setMembers(now, addresses)
		for _, a := range s.question(now) {
			questions++
			asked[a]++
		}
		if next := s.next(strangerForget); !next.IsZero() && now.Sub(next) > 2*time.Millisecond {
			t.Fatalf("the next question was due %v ago", now.Sub(next))
		}
	}
	assert.LessOrEqual(t, questions, 70)
	assert.GreaterOrEqual(t, asked[nodeB], 3, "a real member is asked for as well")
}
