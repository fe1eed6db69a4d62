package address

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/serve/instance"
)

const (
	memberMAC  = "02:00:00:00:00:0b"
	foreignMAC = "02:00:00:00:00:66"
	outlives   = 7 * time.Second
)

func TestForeignHostsTellMembersFromOthers(t *testing.T) {
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
		{name: "a foreign host, too early to say", give: []said{{0, Claim{virtual, foreignMAC, 0, false}}}, at: foreignGrace - 1},
		{name: "a foreign host", give: []said{{0, Claim{virtual, foreignMAC, 0, false}}}, at: foreignGrace, want: []string{foreignMAC}},
		{name: "a member that is known", give: []said{{0, Claim{nodeB, memberMAC, 0, false}}, {0, Claim{virtual, memberMAC, 0, false}}}, at: time.Second},
		{name: "a member that is found in time", give: []said{{0, Claim{virtual, memberMAC, 0, false}}, {foreignGrace - 1, Claim{nodeB, memberMAC, 0, false}}}, at: time.Second},
		{name: "a member that is found late", give: []said{{0, Claim{virtual, memberMAC, 0, false}}}, at: time.Second, want: []string{memberMAC}},
		{name: "a member with two MACs", give: []said{{0, Claim{nodeB, memberMAC, 0, false}}, {0, Claim{nodeB, foreignMAC, 0, false}}, {0, Claim{virtual, foreignMAC, 0, false}}}, at: time.Second},
		{name: "the virtual MAC of our router", give: []said{{0, Claim{virtual, "00:00:5e:00:01:33", 51, false}}}, at: time.Second},
		{name: "the virtual MAC of another router", give: []said{{0, Claim{virtual, "00:00:5e:00:01:34", 52, false}}}, at: time.Second, want: []string{"00:00:5e:00:01:34"}},
		{name: "a foreign host that goes on", give: []said{{0, Claim{virtual, foreignMAC, 0, false}}, {10 * time.Second, Claim{virtual, foreignMAC, 0, false}}}, at: 25 * time.Second, want: []string{foreignMAC}},
		{name: "a foreign host that went away", give: []said{{0, Claim{virtual, foreignMAC, 0, false}}}, at: foreignForget},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Unix(1000, 0)
			s := newForeignHosts(51, time.Time{}, outlives)
			require.True(t, s.setMembers(start, []netip.Addr{nodeB}))
			for _, c := range tt.give {
				s.review(start.Add(c.after), foreignForget)
				s.hear(start.Add(c.after), c.Claim)
			}
			s.review(start.Add(tt.at), foreignForget)
			var macs []string
			for _, c := range s.conflicts() {
				macs = append(macs, c.MAC)
				assert.Equal(t, start, c.Since)
			}
			assert.Equal(t, tt.want, macs)
		})
	}
}

func TestForeignHostsReportBeginAndEndOnce(t *testing.T) {
	now := time.Unix(1000, 0)
	s := newForeignHosts(51, time.Time{}, outlives)
	foreign, _ := s.hear(now, Claim{vip4.Addr(), foreignMAC, 0, false})
	assert.False(t, foreign, "not known yet")
	assert.Equal(t, now.Add(foreignGrace), s.next(foreignForget))
	begun, over := s.review(s.next(foreignForget), foreignForget)
	assert.Len(t, begun, 1)
	assert.Empty(t, over)
	begun, _ = s.review(now.Add(time.Second), foreignForget)
	assert.Empty(t, begun)
	foreign, _ = s.hear(now.Add(2*time.Second), Claim{vip4.Addr(), foreignMAC, 0, false})
	assert.True(t, foreign)
	assert.Equal(t, now.Add(2*time.Second+foreignForget), s.next(foreignForget))
	_, over = s.review(s.next(foreignForget), foreignForget)
	require.Len(t, over, 1)
	assert.Equal(t, instance.Conflict{Address: vip4.Addr(), MAC: foreignMAC, Since: now, LastSeen: now.Add(2 * time.Second)}, over[0])
	assert.Zero(t, s.next(foreignForget))
}

func TestForeignHostsAskForMembersUntilTheyAreFound(t *testing.T) {
	start := time.Unix(1000, 0)
	s := newForeignHosts(51, time.Time{}, outlives)
	require.True(t, s.setMembers(start, []netip.Addr{nodeA, nodeB}))
	var asked []time.Duration
	for range 4 {
		at := s.next(foreignForget)
		require.Len(t, s.question(at), 2)
		asked = append(asked, at.Sub(start))
	}
	assert.Equal(t, []time.Duration{20 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond}, asked)
	s.hear(start, Claim{nodeA, memberMAC, 0, false})
	assert.Equal(t, []netip.Addr{nodeB}, s.question(start.Add(time.Second)))
	assert.False(t, s.setMembers(start, []netip.Addr{nodeA, nodeB}))
	assert.True(t, s.setMembers(start, []netip.Addr{nodeA}))
	assert.Zero(t, s.next(foreignForget), "everybody is known")
}

// Claims to a member's own address are forged, or it was replaced again and again: whoever is heard next is a member nevertheless.
func TestForeignHostsLearnMembersAfterManyMACs(t *testing.T) {
	now := time.Unix(1000, 0)
	const first, third = "02:00:00:00:00:0b", "02:00:00:00:00:0d"
	nodeC, nodeD := netip.MustParseAddr("10.77.0.13"), netip.MustParseAddr("10.77.0.14")
	s := newForeignHosts(51, time.Time{}, outlives)
	s.setMembers(now, []netip.Addr{nodeB, nodeC})
	s.hear(now, Claim{nodeB, first, 0, false})
	for i := range 300 {
		s.hear(now, Claim{nodeC, fmt.Sprintf("06:00:00:00:%02x:%02x", i>>8, i&0xff), 0, false})
		s.hear(now, Claim{nodeB, fmt.Sprintf("0a:00:00:00:%02x:%02x", i>>8, i&0xff), 0, false})
	}
	s.setMembers(now, []netip.Addr{nodeB, nodeC, nodeD})
	s.hear(now, Claim{vip4.Addr(), third, 0, false})
	s.hear(now, Claim{nodeD, third, 0, false})
	foreign, member := s.hear(now, Claim{vip4.Addr(), third, 0, false})
	assert.False(t, foreign)
	assert.Equal(t, nodeD, member)
	_, suspected := s.suspect()
	assert.False(t, suspected)
	_, member = s.hear(now, Claim{vip4.Addr(), first, 0, false})
	assert.Equal(t, nodeB, member, "what was known before is not displaced")
	s.setMembers(now, []netip.Addr{nodeC, nodeD})
	_, member = s.hear(now, Claim{vip4.Addr(), first, 0, false})
	assert.Equal(t, nodeB, member, "one that has left may still answer")
}

// A node that lives and refuses what this one says is no member any more, whatever was known of it.
func TestForeignHostsReportAFormerMemberThatGoesOnAnswering(t *testing.T) {
	start := time.Unix(1000, 0)
	claim := Claim{vip4.Addr(), memberMAC, 0, false}
	known := func() foreignHosts {
		s := newForeignHosts(51, time.Time{}, outlives)
		s.setMembers(start, []netip.Addr{nodeB})
		s.hear(start, Claim{nodeB, memberMAC, 0, false})
		s.setMembers(start.Add(time.Second), nil)
		return s
	}
	for name, tt := range map[string]struct {
		then func(s *foreignHosts) // before the claim
		at   time.Duration         // of the claim
		want int                   // conflicts
	}{
		"while its kernel may still answer": {at: outlives + time.Second - 1},
		"later":                             {at: outlives + time.Second, want: 1},
		"it was heard last some time before it was missed": {
			then: func(s *foreignHosts) { s.known.heard(nodeB, start) }, at: outlives, want: 1,
		},
		"it is a member again": {
			then: func(s *foreignHosts) { s.setMembers(start.Add(2*time.Second), []netip.Addr{nodeB}) }, at: time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := known()
			if tt.then != nil {
				tt.then(&s)
			}
			at := start.Add(tt.at)
			s.hear(at, claim)
			s.review(at.Add(foreignGrace), foreignForget)
			assert.Len(t, s.conflicts(), tt.want)
			s.setMembers(at.Add(time.Second), []netip.Addr{nodeB})
			assert.Empty(t, s.conflicts(), "it is a member again")
			assert.Equal(t, tt.want > 0, s.cleared())
		})
	}
}

// Invented members come and go: there is room for those that are heard.
func TestForeignHostsForgetMembersThatHaveLeft(t *testing.T) {
	now := time.Unix(1000, 0)
	s := newForeignHosts(51, time.Time{}, outlives)
	for i := range 2000 {
		invented := netip.AddrFrom4([4]byte{10, 9, byte(i >> 8), byte(i)})
		s.setMembers(now, []netip.Addr{nodeB, invented})
		s.hear(now, Claim{nodeB, memberMAC, 0, false})
		s.hear(now, Claim{invented, fmt.Sprintf("06:00:00:00:%02x:%02x", i>>8, i&0xff), 0, false})
	}
	assert.LessOrEqual(t, len(s.known), mostMACs)
	_, member := s.hear(now, Claim{vip4.Addr(), memberMAC, 0, false})
	assert.Equal(t, nodeB, member)
	_, member = s.hear(now, Claim{vip4.Addr(), "06:00:00:00:07:cf", 0, false})
	assert.True(t, member.IsValid(), "the newest is known")
}

func TestForeignHostsAreBounded(t *testing.T) {
	now := time.Unix(1000, 0)
	s := newForeignHosts(51, time.Time{}, outlives)
	s.setMembers(now, []netip.Addr{nodeB})
	for i := range 10000 {
		mac := fmt.Sprintf("02:00:00:00:%02x:%02x", i>>8&0xff, i&0xff)
		s.hear(now, Claim{vip4.Addr(), mac, 0, false})
		s.hear(now, Claim{nodeB, "06" + mac[2:], 0, false})
	}
	assert.Len(t, s.claims, mostForeign)
	assert.Len(t, s.known, macsPerMember)
}

func TestForeignHostsAreDefendedAgainstOncePerInterval(t *testing.T) {
	now := time.Unix(1000, 0)
	var s foreignHosts
	assert.True(t, s.defend(now))
	assert.False(t, s.defend(now.Add(defendEvery-1)))
	assert.True(t, s.defend(now.Add(defendEvery)))
}

func TestClaimsOfTheFirstLeaseWaitUntilEveryMemberIsHeard(t *testing.T) {
	start := time.Now()
	s := newForeignHosts(51, start.Add(3*time.Second), outlives)
	s.hear(start, Claim{Address: vip4.Addr(), MAC: memberMAC})
	begun, _ := s.review(start.Add(time.Second), foreignForget)
	assert.Empty(t, begun, "a member that advertises once a second may not have been heard")
	begun, _ = s.review(start.Add(3*time.Second), foreignForget)
	assert.Len(t, begun, 1)
	s.setMembers(start.Add(4*time.Second), []netip.Addr{nodeB})
	s.hear(start.Add(4*time.Second), Claim{Address: nodeB, MAC: memberMAC})
	assert.True(t, s.cleared())
	assert.False(t, s.cleared(), "told once")
	assert.Empty(t, s.conflicts())
}

// A forger invents a member with each packet. The questions for their MACs go to all hosts of the link.
func TestForeignHostsAskSeldomUnderAFlood(t *testing.T) {
	start := time.Now()
	s := newForeignHosts(51, start, outlives)
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
		if next := s.next(foreignForget); !next.IsZero() && now.Sub(next) > 2*time.Millisecond {
			t.Fatalf("the next question was due %v ago", now.Sub(next))
		}
	}
	assert.LessOrEqual(t, questions, 70)
	assert.GreaterOrEqual(t, asked[nodeB], 3, "a real member is asked for as well")
}

// A bond with fail_over_mac, or a virtual NIC that was replaced, changes the MAC of a member.
func TestMemberWithAnotherMACIsAskedBeforeItIsAStranger(t *testing.T) {
	const another = "02:00:00:00:00:0c"
	now, virtual := time.Unix(1000, 0), vip4.Addr()
	s := newForeignHosts(51, time.Time{}, outlives)
	s.setMembers(now, []netip.Addr{nodeB})
	s.hear(now, Claim{nodeB, memberMAC, 0, false})
	now = now.Add(time.Minute)
	assert.Empty(t, s.question(now), "its MAC is known")

	s.hear(now, Claim{virtual, another, 0, false})
	assert.Equal(t, []netip.Addr{nodeB}, s.question(s.next(foreignForget)))
	_, member := s.hear(now.Add(time.Millisecond), Claim{nodeB, another, 0, false})
	assert.False(t, member.IsValid())
	_, member = s.hear(now.Add(time.Second), Claim{virtual, another, 0, false})
	assert.Equal(t, nodeB, member)
	begun, _ := s.review(now.Add(time.Second), foreignForget)
	assert.Empty(t, begun)
	assert.Empty(t, s.question(now.Add(time.Second)))
}

func TestStrangerBesideMembersIsReported(t *testing.T) {
	now, virtual := time.Unix(1000, 0), vip4.Addr()
	s := newForeignHosts(51, time.Time{}, outlives)
	s.setMembers(now, []netip.Addr{nodeB})
	s.hear(now, Claim{nodeB, memberMAC, 0, false})
	now = now.Add(time.Minute)
	s.hear(now, Claim{virtual, foreignMAC, 0, false})
	asked := 0
	for at := now; at.Before(now.Add(foreignGrace)); at = at.Add(10 * time.Millisecond) {
		asked += len(s.question(at))
	}
	assert.Equal(t, questionsAgain, asked, "all questions come before it is a stranger")
	begun, _ := s.review(now.Add(foreignGrace), foreignForget)
	assert.Len(t, begun, 1)
	assert.Empty(t, s.question(now.Add(time.Minute)), "and no more")
}
