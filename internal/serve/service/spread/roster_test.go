package spread

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/members/slots"
)

func spreads(a netip.Addr) election.Member {
	return election.Member{Address: a, Spread: said(true), Fit: new(true)}
}

// By Raft a member says where it is on the link of the addresses. Two rows of one address would be two members with one name.
func TestRosterLeavesOutWhoClaimsThisNodesAddress(t *testing.T) {
	now := time.Now()
	r := roster{pace: pace{interval}, self: addr(11)}
	m := spreads(netip.MustParseAddr("10.9.0.12"))
	m.Spread.Address = addr(11)
	m.LastHeard = now
	r.hear(now, []election.Member{m})
	assert.Empty(t, r.all)
}

// Without a key anybody on the link can invent members, each with an address of its own.
func TestRosterRemembersSoManyMembers(t *testing.T) {
	now := time.Now()
	r := roster{pace: pace{interval}, self: addr(11)}
	hear := func(list ...election.Member) {
		for i := range list {
			list[i].LastHeard = now
		}
		r.hear(now, list)
		for _, m := range r.all {
			if !m.silentSince.IsZero() && m.address != addr(12) {
				m.missed = unanswered
			}
		}
		r.declareDead()
	}
	hear(spreads(addr(12)))
	for i := range 1000 {
		now = now.Add(interval)
		hear(spreads(netip.AddrFrom4([4]byte{10, 77, byte(1 + i>>8), byte(i)})))
		require.LessOrEqual(t, len(r.all), mostKnown)
	}
	require.NotNil(t, r.find(addr(12), false), "it keeps its connections: its host answers")
	now = now.Add(interval)
	hear(spreads(addr(12)), spreads(addr(13)))
	require.NotNil(t, r.find(addr(13), false), "there is room in place of the dead")
}

// What is listed has a place, however many others there are.
func TestRosterHasRoomForWhoIsListed(t *testing.T) {
	now := time.Now()
	r := roster{pace: pace{interval}, self: addr(11)}
	var list []election.Member
	for i := range mostKnown + 5 {
		list = append(list, spreads(netip.AddrFrom4([4]byte{10, 77, 1, byte(i)})))
		list[i].LastHeard = now
	}
	r.hear(now, list)
	assert.Len(t, r.all, mostKnown)
	r.list(now, []netip.Addr{addr(11), addr(12)})
	r.hear(now, append(list, spreads(addr(12))))
	assert.NotNil(t, r.find(addr(12), false))
}

// A lifetime of next to nothing would have this node look, and ask, all the time.
func TestRosterLooksNoMoreOftenThanMembersSpeak(t *testing.T) {
	now := time.Now()
	r := roster{pace: pace{interval}, self: addr(11)}
	m := spreads(addr(12))
	m.Spread.Every, m.LastHeard = time.Microsecond, now
	r.hear(now, []election.Member{m})
	assert.GreaterOrEqual(t, r.next(now).Sub(now), 100*time.Millisecond)
}

// Members that said so at different moments would send packets of the dead one's connections to each other meanwhile.
func TestRosterKnowsOfADeadHostWhenItsMemberIsSilent(t *testing.T) {
	now := time.Now()
	r := roster{pace: pace{interval}, self: addr(11)}
	m := spreads(addr(12))
	m.Spread.Every, m.LastHeard = interval, now
	r.hear(now, []election.Member{m})
	silent, answer := now.Add(interval*silentAfter/10), time.Time{}
	for ; now.Before(silent); now = now.Add(time.Millisecond) {
		if !answer.IsZero() && !now.Before(answer) {
			r.answered(now, addr(12), ErrSilent)
			answer = time.Time{}
		}
		due, limit := r.ask(now)
		if len(due) > 0 {
			answer = now.Add(limit + time.Millisecond)
		}
		r.declareDead()
		require.False(t, r.all[0].dead)
	}
	m.State = election.Silent
	r.hear(now, []election.Member{m})
	r.declareDead()
	assert.True(t, r.all[0].dead)
}

// A link that is down refuses each question at once.
func TestRosterAsksNoFasterWhereQuestionsFailAtOnce(t *testing.T) {
	now := time.Now()
	r := roster{pace: pace{time.Second}, self: addr(11)}
	m := spreads(addr(12))
	m.Spread.Every, m.LastHeard = time.Second, now
	r.hear(now, []election.Member{m})
	asked := 0
	for end := now.Add(3 * time.Second); now.Before(end); now = now.Add(time.Millisecond) {
		due, _ := r.ask(now)
		for _, a := range due {
			asked++
			r.answered(now, a, assert.AnError)
		}
	}
	assert.InDelta(t, int(time.Second/askAgain), asked, 1, "from suspicion on")
	assert.LessOrEqual(t, r.next(now).Sub(now), askAgain)
	m.State = election.Silent
	r.hear(now, []election.Member{m})
	r.declareDead()
	assert.False(t, r.all[0].dead, "it was not asked")
}

// A witness of Raft votes, and serves nothing: the others have no place for it.
func TestServiceOfAWitnessHasTheTableOfTheOthers(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.elector.set(election.Member{Address: addr(11), Self: true, Witness: true, Node: "n1"})
		b.member(12, true)
		b.member(13, true)
		b.begin()
		time.Sleep(settle)
		assert.Equal(t, map[string]int{"10.77.0.12 fit": 60, "10.77.0.13 fit": 60}, b.shares())
		assert.Nil(t, b.elector.own(), "it does not spread")
		s := b.service.Status().Spread
		assert.Empty(t, s.Problem)
		assert.Len(t, s.Members, 2)
		p := b.host.plane("api")
		assert.Equal(t, []netip.Addr{addr(11)}, p.cfg.Self, "what its own programs connect to goes to members")
		assert.Zero(t, nobody(p.cfg.Slots))
	})
}

func TestServiceWritesSoManyLinesAboutWhoIsLeftOut(t *testing.T) {
	cfg := spreadOne()
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		for n := byte(12); n < 12+slots.Most-1; n++ {
			b.member(n, true)
		}
		b.begin()
		time.Sleep(settle)
		for i := range 100 {
			b.member(byte(100+i%2), true)
			b.elector.remove(addr(byte(100 + (i+1)%2)))
			b.host.set(addr(byte(100+(i+1)%2)), false)
			time.Sleep(500 * time.Millisecond)
		}
		assert.LessOrEqual(t, b.log.lines("connections are not spread over all members"), mostLines)
	})
}

// While one node after the other is reloaded the holder serves the connections of a port that it does not spread yet.
func TestHolderThatDoesNotSpreadThePortYetKeepsItsConnections(t *testing.T) {
	added := portSet{ports: []config.SpreadPort{{Protocol: config.ProtocolTCP, Port: 9443, Target: 7443}}}
	for holder, want := range map[bool]slots.Condition{true: slots.Keeps, false: slots.Dead} {
		m := member{heard: true, holder: holder, spread: election.Spread{Fit: true, Weight: 1, Ports: []election.SpreadPort{{Protocol: 6, Port: 9444, Healthy: true}}}}
		got, why := m.condition(added)
		assert.Equal(t, want, got, "holder %v", holder)
		assert.Equal(t, "it does not spread the port", why)
	}
}
