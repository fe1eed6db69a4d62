package subscription

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/members/slots"
)

// counted is what the follower has told a member of its connections, and when.
func (l *lan) counted(member int) (*uint32, time.Time) {
	l.t.Helper()
	list := l.members[member].pub.Subscribers(l.now, group)
	if len(list) == 0 {
		return nil, time.Time{}
	}
	require.Len(l.t, list, 1)
	return list[0].Connections, list[0].Counted
}

// says tells whether the follower has told a member of so many.
func (l *lan) says(member int, n uint32) bool {
	got, _ := l.counted(member)
	return got != nil && *got == n
}

func TestFollowerTellsAMemberOfItsConnections(t *testing.T) {
	keys, cfg := keyed(t)
	l := newLAN(t, 3, keys, cfg)
	l.until(time.Second, slots.Fit, slots.Fit, slots.Fit)
	l.run(time.Second)
	n, _ := l.counted(1)
	assert.Nil(t, n, "it has not counted any")

	l.follower.Count(l.now, map[netip.Addr]uint32{own(2): 30})
	l.run(10 * time.Millisecond)
	assert.True(t, l.says(1, 30), "at once")
	n, _ = l.counted(0)
	assert.Nil(t, n, "the others do not ask")
	_, before := l.counted(1)
	l.run(lease)
	_, after := l.counted(1)
	assert.Greater(t, after.Sub(before), lease/2, "and again with each renewal")

	l.follower.Count(l.now, map[netip.Addr]uint32{own(2): 0})
	l.run(10 * time.Millisecond)
	assert.True(t, l.says(1, 0))
	l.follower.Count(l.now, nil)
	l.run(lease)
	n, _ = l.counted(1)
	assert.Nil(t, n)
}

// A follower asks three members who all of them are. Another one is told how many connections it still has, too.
func TestFollowerTellsAMemberThatItDoesNotAsk(t *testing.T) {
	keys, cfg := keyed(t)
	l := newLAN(t, 5, keys, cfg)
	l.until(time.Second, slots.Fit, slots.Fit, slots.Fit, slots.Fit, slots.Fit)
	l.run(2 * lease)
	other := -1
	for i, n := range l.members {
		if len(n.pub.Subscribers(l.now, group)) == 0 {
			other = i
		}
	}
	require.GreaterOrEqual(t, other, 0)
	l.follower.Count(l.now, map[netip.Addr]uint32{own(other + 1): 2})
	l.run(20 * time.Millisecond)
	assert.True(t, l.says(other, 2))
	l.follower.Count(l.now, map[netip.Addr]uint32{own(other + 1): 0})
	l.run(20 * time.Millisecond)
	assert.True(t, l.says(other, 0), "the last word, too")
	l.run(2 * lease)
	assert.Empty(t, l.members[other].pub.Subscribers(l.now, group), "there is nothing more to say")
	assert.Len(t, l.follower.By(l.now), wantedPeers)
}

// A follower asks all whom it is given. Those that it needs no more have it among their subscribers for a lease, and wait for its word.
func TestFollowerTellsAMemberThatItAsksNoMore(t *testing.T) {
	keys, cfg := keyed(t)
	for i := range 5 {
		cfg.Listed = append(cfg.Listed, own(i+1))
	}
	l := newLAN(t, 5, keys, cfg)
	l.until(time.Second, slots.Fit, slots.Fit, slots.Fit, slots.Fit, slots.Fit)
	require.NotContains(t, l.follower.By(l.now)[:wantedPeers], own(5))
	for _, counts := range []map[netip.Addr]uint32{{own(5): 0}, nil, {own(5): 3}, nil, {own(5): 0}} {
		l.follower.Count(l.now, counts)
		l.run(20 * time.Millisecond)
		if n, counted := counts[own(5)]; counted {
			assert.True(t, l.says(4, n), n)
		}
	}
	l.run(2 * lease)
	assert.Empty(t, l.members[4].pub.Subscribers(l.now, group))
}

// What somebody repeats who has seen it says nothing about the connections that there are now.
func TestRepeatedQuestionSaysNothingAboutConnections(t *testing.T) {
	keys, cfg := keyed(t)
	l := newLAN(t, 1, keys, cfg)
	l.until(time.Second, slots.Fit)
	l.follower.Count(l.now, map[netip.Addr]uint32{own(1): 0})
	old := l.follower.Expire(l.now)
	require.Len(t, old, 1)
	l.ask(old)
	l.run(10 * time.Millisecond)
	require.True(t, l.says(0, 0))
	l.follower.Count(l.now, map[netip.Addr]uint32{own(1): 7})
	l.run(10 * time.Millisecond)
	require.True(t, l.says(0, 7))
	l.ask(old)
	l.run(10 * time.Millisecond)
	assert.True(t, l.says(0, 7))
}

// A member's word that comes in before the question is sent does not put it off.
func TestFollowerTellsOfItsConnectionsThoughAMemberSpeaksMeanwhile(t *testing.T) {
	keys, cfg := keyed(t)
	l := newLAN(t, 1, keys, cfg)
	l.until(time.Second, slots.Fit)
	l.run(hello)
	said := l.members[0].pub.Expire(l.now.Add(hello))
	require.NotEmpty(t, said)
	l.follower.Count(l.now, map[netip.Addr]uint32{own(1): 30})
	for _, o := range said {
		l.follower.Hear(l.now, o.Data)
	}
	l.run(10 * time.Millisecond)
	assert.True(t, l.says(0, 30))
}
