package members

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/vrrp"
)

// claimant is what a member says that holds the address, and advertises it ten times a second.
func claimant(hears ...Heard) Message {
	f := other(vrrp.Active, true)
	f.Claims, f.Router, f.Hears = true, Router{Version: 3, VRID: 51, Interval: 100 * ms}, hears
	f.Lifetime = 3500 * ms
	return Message{Type: Hello, Session: 0xb, Peer: f}
}

func claims(list []Action) (out []Claim) {
	for _, a := range list {
		if c, ok := a.(Claim); ok {
			out = append(out, c)
		}
	}
	return out
}

func TestMachineClaimCountsOnlyWithoutAdvertisements(t *testing.T) {
	for name, tt := range map[string]struct {
		advert time.Duration // before the message; 0: never
		want   int
	}{
		"never":                       {0, 1},
		"just now":                    {ms, 0},
		"an interval ago":             {100 * ms, 0},
		"one and a half ago":          {150 * ms, 0},
		"more than one and a half":    {151 * ms, 1},
		"ten ago, a takeover is over": {time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			now := epoch.Add(time.Minute)
			m := NewMachine(Config{Group: group, Address: nodeA, Session: 0xa})
			m.Step(now, SetSelf{Self: Self{State: vrrp.Backup, Fit: true, Priority: 100}})
			if tt.advert > 0 {
				m.Hear(nodeB, now.Add(-tt.advert))
			}
			list := claims(m.Step(now, Received{Source: nodeB, Message: claimant()}))
			require.Len(t, list, tt.want)
			assert.Len(t, m.Claimants(now), tt.want)
			if tt.want > 0 {
				assert.Equal(t, Claim{From: nodeB, Priority: list[0].Priority, Interval: 100 * ms, At: now}, list[0])
				assert.Empty(t, m.Claimants(now.Add(400*ms)), "as long as an advertisement would count")
			}
		})
	}
}

// Two missed advertisements are said at once, and what is said is over when one arrives.
func TestMachineSaysThatAdvertisementsAreMissing(t *testing.T) {
	now := epoch.Add(time.Minute)
	m := NewMachine(Config{Group: group, Address: nodeA, Session: 0xa})
	m.Step(now, SetSelf{Self: Self{State: vrrp.Backup, Fit: true, Priority: 100}})
	m.Hear(nodeB, now)
	m.Step(now, Received{Source: nodeB, Message: claimant(Heard{Session: 0xa})})
	said := func() (missing, spoke bool) {
		for _, a := range m.Step(now, Expired{}) {
			if s, ok := a.(Send); ok {
				return len(s.Message.Peer.Hears) == 1 && s.Message.Peer.Hears[0].Missing, true
			}
		}
		return false, false
	}
	now = now.Add(240 * ms)
	said() // a HELLO that is due for another reason
	missing, _ := said()
	assert.False(t, missing)
	now = now.Add(10 * ms)
	missing, spoke := said()
	assert.True(t, missing && spoke)
	m.Hear(nodeB, now)
	now = now.Add(missingGap)
	missing, spoke = said()
	assert.True(t, spoke && !missing)
}

// A holder sends a HELLO with each advertisement while somebody says that these do not arrive, and none otherwise.
func TestMachineAccompaniesAdvertisements(t *testing.T) {
	for missing, want := range map[bool]int{false: 0, true: 1} {
		now := epoch.Add(time.Minute)
		m := NewMachine(Config{Group: group, Address: nodeA, Session: 0xa})
		m.Step(now, SetSelf{Self: Self{State: vrrp.Active, Fit: true, Claims: true}})
		f := other(vrrp.Backup, true)
		f.Hears, f.Lifetime = []Heard{{Session: 0xa, Missing: missing}}, 3500*ms
		m.Step(now, Received{Source: nodeB, Message: Message{Type: Hello, Session: 0xb, Peer: f}})
		now = now.Add(200 * ms)
		m.Step(now, Expired{})
		now = now.Add(ms)
		assert.Len(t, m.Step(now, Advertised{}), want)
		now = now.Add(3500 * ms)
		m.Step(now, Expired{})
		now = now.Add(readTime) // this node has not looked for long
		m.Step(now, Expired{})
		now = now.Add(ms)
		assert.Empty(t, m.Step(now, Advertised{}), "it is silent")
	}
}

func TestMachineKnowsWhoIsDeaf(t *testing.T) {
	for name, hears := range map[string][]Heard{"it hears us": {{Session: 0xa, Missing: true}}, "it hears another": {{Session: 0xc}}} {
		now := epoch.Add(time.Minute)
		m := NewMachine(Config{Group: group, Address: nodeA, Session: 0xa})
		m.Step(now, SetSelf{Self: Self{State: vrrp.Active, Fit: true, Claims: true}})
		var last []Claim
		for range 2 {
			last = claims(m.Step(now, Received{Source: nodeB, Message: claimant(hears...)}))
			now = now.Add(deafAfter)
		}
		require.Len(t, last, 1)
		assert.Equal(t, name == "it hears another", last[0].Deaf, name)
	}
}

func TestMachineAdvertisementsOfManyAreForgotten(t *testing.T) {
	m := NewMachine(Config{Group: group, Address: nodeA, Session: 0xa})
	flood(m, epoch, 2*maxMembers)
	assert.Len(t, m.known.claimants.list, maxMembers)
	assert.False(t, m.known.claimants.last(netip.AddrFrom4([4]byte{10, 88, 0, 2*maxMembers - 1})).IsZero(), "the newest is known")
}

// flood lets m hear advertisements of routers that are no members.
func flood(m *Machine, at time.Time, count int) {
	for i := range count {
		m.Hear(netip.AddrFrom4([4]byte{10, 88, byte(i >> 8), byte(i)}), at.Add(time.Duration(i)))
	}
}

// Routers that are no members displace each other, and never the holder: its advertisements would seem to be missing since it
// began to claim the address, and the timer for that to be late by as much.
func TestMachineHearsTheHolderDuringAFlood(t *testing.T) {
	now := epoch.Add(time.Minute)
	m := NewMachine(Config{Group: group, Address: nodeA, Session: 0xa})
	m.Step(now, SetSelf{Self: Self{State: vrrp.Backup, Fit: true, Priority: 100}})
	m.Step(now, Received{Source: nodeB, Message: claimant(Heard{Session: 0xa})})
	for range 100 {
		m.Hear(nodeB, now)
		flood(m, now, 2*maxMembers)
		assert.False(t, m.Unheard(nodeB, now))
		if now.Sub(epoch)%time.Second == 0 {
			m.Step(now, Received{Source: nodeB, Message: claimant(Heard{Session: 0xa})})
		}
		for _, a := range m.Step(now, Expired{}) {
			if s, ok := a.(Send); ok {
				assert.Equal(t, []Heard{{Session: 0xb}}, s.Message.Peer.Hears, "its advertisements arrive")
			}
		}
		next, ok := m.Deadline()
		require.True(t, ok)
		require.Less(t, now.Sub(next), 100*ms, "due since before this step")
		now = now.Add(100 * ms)
	}
}

// A process that stood still finds an old HELLO of a holder in its queue, beside advertisements that came after it.
func TestMachineTakesAnOldHelloForWhatItIs(t *testing.T) {
	now := epoch.Add(time.Minute)
	m := NewMachine(Config{Group: group, Address: nodeA, Session: 0xa})
	m.Step(now, SetSelf{Self: Self{State: vrrp.Backup, Fit: true, Priority: 100}})
	said := now.Add(-time.Second)
	m.Hear(nodeB, said.Add(-50*ms))
	list := claims(m.Step(now, Received{Source: nodeB, Message: claimant(), At: said}))
	assert.Empty(t, list, "an advertisement of it was heard shortly before")
	members := m.Members(nil, now)
	require.Len(t, members, 1)
	assert.Equal(t, said, members[0].Heard)
	m.Step(now, Received{Source: nodeB, Message: claimant(), At: now.Add(-4 * time.Second)})
	assert.Empty(t, m.Members(nil, now), "it counts for its Lifetime from when it came in")
	due, _ := m.Deadline()
	assert.False(t, due.Before(now))
}

// A deaf claimant that speaks more seldom than this node, because it has more entries, counts from one of its messages to the next, also
// behind the first of a session. It has to hold a key.
func TestMachineDeafClaimantSpeaksSeldom(t *testing.T) {
	for name, extra := range map[string][]time.Duration{
		"regularly":               nil,
		"and says a change twice": {20 * ms, 60 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			const every = 4 * time.Second
			now := epoch.Add(time.Minute)
			m := NewMachine(Config{Group: group, Address: nodeA, Session: 0xa})
			m.Step(now, SetSelf{Self: Self{State: vrrp.Active, Fit: true, Claims: true, Router: Router{Version: 3, VRID: 51, Interval: 100 * ms}}})
			msg := claimant()
			msg.Peer.Lifetime = lifetime(every)
			say := func(at time.Time) []Claim {
				return claims(m.Step(at, Received{Source: nodeB, Message: msg, Signed: true}))
			}
			for _, d := range []time.Duration{0, 20 * ms, 60 * ms} { // as one that has just begun
				say(now.Add(d))
			}
			assert.Len(t, m.Claimants(now.Add(every)), 1)
			for range 5 {
				now = now.Add(every)
				list := say(now)
				for _, d := range extra {
					list = say(now.Add(d))
				}
				require.Len(t, list, 1)
				assert.True(t, list[0].Deaf)
				assert.Greater(t, list[0].Lasts, every)
				assert.Len(t, m.Claimants(now.Add(every)), 1)
			}
			assert.Empty(t, m.Claimants(now.Add(lifetime(every)+60*ms)), "it is silent")
		})
	}
}

// What members say waits for a node that takes no part yet, or stands still. Its words are old then, and nothing was listening to advertisements.
func TestMachineFindsNoSplitInWordsFromBefore(t *testing.T) {
	t.Run("its start", func(t *testing.T) { findsNoSplitBefore(t, 0) })
	t.Run("it went on", func(t *testing.T) { findsNoSplitBefore(t, 3*time.Second) })
}

func findsNoSplitBefore(t *testing.T, stood time.Duration) {
	t.Helper()
	now := epoch.Add(time.Minute)
	m := NewMachine(Config{Group: group, Address: nodeA, Session: 0xa})
	m.Step(now, SetSelf{Self: Self{State: vrrp.Backup, Fit: true, Priority: 100}})
	if stood > 0 {
		due, ok := m.Deadline()
		require.True(t, ok)
		now = due.Add(stood)
	}
	split := func() bool { return len(m.Claimants(now)) == 1 && m.Claimants(now)[0].Split }
	for _, ago := range []time.Duration{2 * time.Second, time.Second, 0} {
		m.Step(now, Received{Source: nodeB, Message: claimant(), At: now.Add(-ago)})
		assert.False(t, split(), "%v ago", ago)
	}
	start := now
	for says := now.Add(50 * ms); !split(); {
		require.Less(t, now.Sub(start), time.Second, "a real one is found")
		if due, ok := m.Deadline(); ok && due.Before(says) { // it runs when something is due
			now = due
			m.Step(now, Expired{})
			continue
		}
		now, says = says, says.Add(50*ms)
		m.Step(now, Received{Source: nodeB, Message: claimant(), At: now})
	}
	assert.Equal(t, splitAfter, now.Sub(start))
}
