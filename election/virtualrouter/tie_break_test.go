package virtualrouter

import (
	"net/netip"
	"testing"
	"time"

	"github.com/keepvip/keepvip/election"

	"github.com/stretchr/testify/assert"
)

func TestTieBreakDelayByRankIsEvenAndAtMostAnEighth(t *testing.T) {
	nodes := []netip.Addr{nodeA, nodeB, nodeC}
	var got []time.Duration
	for i, n := range nodes {
		others := append(append([]netip.Addr{}, nodes[:i]...), nodes[i+1:]...)
		got = append(got, tieBreakDelay(n, others, interval))
	}
	assert.Equal(t, []time.Duration{0, interval / 16, interval / 8}, got)
}

func TestTieBreakDelayByHashKeepsNeighboursApart(t *testing.T) {
	first := netip.MustParseAddr("192.168.7.250")
	for range 1000 {
		a, b, c := first, first.Next(), first.Next().Next()
		da, db, dc := tieBreakDelay(a, nil, interval), tieBreakDelay(b, nil, interval), tieBreakDelay(c, nil, interval)
		for _, d := range []time.Duration{da, db, dc} {
			assert.GreaterOrEqual(t, d, time.Duration(0))
			assert.LessOrEqual(t, d, interval/8)
		}
		least := interval / 8 * 23 / 100
		assert.Greater(t, (da - db).Abs(), least, "%s and %s", a, b)
		assert.Greater(t, (db - dc).Abs(), least, "%s and %s", b, c)
		assert.Greater(t, (da - dc).Abs(), least, "%s and %s", a, c)
		first = b
	}
}

func TestTieBreakKeepsTheOperatorsOrder(t *testing.T) {
	tests := []struct {
		name  string
		heard []uint8
		want  bool
	}{
		{"nobody heard yet", nil, true},
		{"an equal", []uint8{100}, true},
		{"only other priorities", []uint8{101}, false},
		{"another and an equal", []uint8{101, 100}, true},
		{"an unfit node says nothing about its priority", []uint8{1}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var heard []election.Member
			for _, p := range tt.heard {
				heard = append(heard, election.Member{Priority: p})
			}
			assert.Equal(t, tt.want, perhapsEquals(100, heard))
		})
	}
}

func TestMembersForgetTheOldestWhenFull(t *testing.T) {
	var m senders
	now := time.Now()
	addr := netip.MustParseAddr("10.0.0.1")
	for i := range maxMembers + 10 {
		m.hear(addr, 100, time.Second, now.Add(time.Duration(i)*time.Millisecond))
		addr = addr.Next()
	}
	assert.Len(t, m.list, maxMembers)
	_, known := m.silentAt(netip.MustParseAddr("10.0.0.1"))
	assert.False(t, known)
}

// Neither who is silent displaces an Active, nor who ranks lower.
func TestMembersKeepTheHolderDuringAFlood(t *testing.T) {
	var m senders
	at := time.Now()
	m.hear(nodeA, 254, time.Millisecond, at) // silent soon
	for round := range 10 {
		m.hear(nodeB, 100, time.Second, at)
		attacker := netip.MustParseAddr("10.88.0.1")
		for range 3 * maxMembers {
			at = at.Add(time.Millisecond)
			m.hear(attacker, 1, time.Second, at)
			attacker = attacker.Next()
		}
		assert.Equal(t, nodeB, m.holder(at), "round %d", round)
		assert.Len(t, m.list, maxMembers)
	}
	_, known := m.silentAt(nodeA)
	assert.False(t, known)
}

func TestMembersHolderIsTheBestThatIsNotSilent(t *testing.T) {
	var m senders
	now := time.Now()
	m.hear(nodeA, 200, time.Second, now.Add(-2*time.Second))
	m.hear(nodeB, 100, time.Second, now)
	m.hear(nodeC, 100, time.Second, now)
	assert.Equal(t, nodeC, m.holder(now), "equal priorities: the greater address")
	m.hear(nodeC, 0, time.Second, now)
	assert.Equal(t, nodeB, m.holder(now), "nodeC resigned, nodeA is silent")
}

func TestTieBreakDelayAmongOtherPrioritiesIsLessThanOneStepOfSkewTime(t *testing.T) {
	for _, every := range []time.Duration{10 * time.Millisecond, interval, time.Second} {
		most := every / tieBreakShare / amongOthers
		assert.Less(t, most, every/256)
	}
}
