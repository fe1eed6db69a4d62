package members

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/vrrp"
)

// peer is what another node says that spreads.
func peer(lifetime time.Duration) Message {
	return Message{Type: Hello, Session: 0xb, Peer: PeerState{
		Self:  Self{State: vrrp.Backup, Base: 100, Priority: 100, Fit: true, Spread: spread()},
		Group: group, Lifetime: lifetime,
	}}
}

// A process that stood still reads what the others have said meanwhile before it takes them for dead: not even for a moment do they seem to be.
func TestMachineReadsFirstAfterAStandstill(t *testing.T) {
	for _, stood := range []time.Duration{370 * ms, time.Second, 30 * time.Second} {
		m, now := spreading(t, Config{}, 100*ms)
		m.Step(now, Received{Source: nodeB, Message: peer(350 * ms)})
		m.Step(now, Expired{})
		began := now
		now = now.Add(stood)
		m.Step(now, Expired{})
		require.Len(t, m.Members(nil, now), 1, "after %v", stood)
		for at := began.Add(100 * ms); at.Before(now); at = at.Add(100 * ms) {
			now = now.Add(100 * time.Microsecond)
			m.Step(now, Received{Source: nodeB, Message: peer(350 * ms), At: at})
			require.Len(t, m.Members(nil, now), 1, "after %v", stood)
		}
		now = now.Add(readTime)
		m.Step(now, Expired{})
		assert.Len(t, m.Members(nil, now), 1, "what came last is new enough")
	}
}

// Whatever is asked first.
func TestMachineForgetsNobodyInALookAfterAStandstill(t *testing.T) {
	for name, look := range map[string]func(*Machine, time.Time){
		"who is a member":         func(m *Machine, now time.Time) { m.Members(nil, now) },
		"who could take over":     func(m *Machine, now time.Time) { m.Successors(now) },
		"who is to be followed":   func(m *Machine, now time.Time) { m.Defers(now, nodeC) },
		"an advertisement leaves": func(m *Machine, now time.Time) { m.Step(now, Advertised{}) },
	} {
		t.Run(name, func(t *testing.T) {
			m, now := spreading(t, Config{}, 100*ms)
			m.Step(now, Received{Source: nodeB, Message: peer(350 * ms)})
			m.Step(now, Expired{})
			now = now.Add(2 * time.Second)
			look(m, now)
			m.Step(now, Expired{})
			assert.Len(t, m.Members(nil, now), 1)
		})
	}
}

// One that has died meanwhile is forgotten when what was waiting has been read.
func TestMachineForgetsTheDeadAfterAStandstill(t *testing.T) {
	m, now := spreading(t, Config{}, 100*ms)
	m.Step(now, Received{Source: nodeB, Message: peer(350 * ms)})
	now = now.Add(10 * time.Second)
	m.Step(now, Expired{})
	require.Len(t, m.Members(nil, now), 1)
	for range 100 {
		at, ok := m.Deadline()
		require.True(t, ok)
		require.True(t, at.After(now), "there is always something to wait for")
		now = at
		if m.Step(now, Expired{}); len(m.Members(nil, now)) == 0 {
			break
		}
	}
	assert.Empty(t, m.Members(nil, now))
	assert.LessOrEqual(t, now.Sub(epoch.Add(time.Minute)), 11*time.Second)
}

// What waited for too long shows that its sender was there, and no more: a claim of then does not count, and nothing is granted.
func TestMachineBelievesNothingOutdated(t *testing.T) {
	m, now := spreading(t, Config{}, 100*ms)
	m.Step(now, Received{Source: nodeB, Message: peer(350 * ms)})
	began := now
	now = now.Add(5 * time.Second)
	m.Step(now, Expired{})
	old := claimant()
	old.Peer.Lifetime = 350 * ms
	assert.Empty(t, claims(m.Step(now, Received{Source: nodeB, Message: old, At: began.Add(time.Second)})))
	assert.Len(t, m.Members(nil, now), 1)
}

// On a host where every timer is late the dead are forgotten, too.
func TestMachineThatIsAlwaysLateForgetsTheDead(t *testing.T) {
	m, now := spreading(t, Config{}, 100*ms)
	m.Step(now, Received{Source: nodeB, Message: peer(350 * ms)})
	end := now.Add(time.Second)
	for len(m.Members(nil, now)) > 0 {
		require.False(t, now.After(end))
		at, ok := m.Deadline()
		require.True(t, ok)
		now = later(now, at).Add(150 * ms)
		m.Step(now, Expired{})
	}
}
