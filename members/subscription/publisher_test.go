package subscription

import (
	"encoding/binary"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/auth"
	"github.com/keepvip/keepvip/members/envelope"
	"github.com/keepvip/keepvip/members/slots"
)

func (l *lan) hear(m Message, from netip.AddrPort, key *auth.Key) []Outgoing {
	b, err := m.Append(nil, key)
	require.NoError(l.t, err)
	out := l.members[0].pub.Hear(l.now, Packet{Data: b, From: from, To: own(1), TTL: 60})
	for _, o := range out {
		if Type(o.Data[5]) != Members {
			assert.LessOrEqual(l.t, len(o.Data), len(b), "an answer to who may be somebody else is no longer than the question")
		}
	}
	return out
}

// subscribe shows the cookie that it gets.
func (l *lan) subscribe(from netip.AddrPort, session uint64, key *auth.Key) []Outgoing {
	m := Message{Type: Subscribe, Session: session, Group: group}
	out := l.hear(m, from, key)
	require.Len(l.t, out, 1)
	c, by, err := Parse(out[0].Data, []auth.Key{*key})
	require.NoError(l.t, err)
	require.NotNil(l.t, by)
	require.Equal(l.t, Cookie, c.Type)
	m.Cookie = c.Cookie
	return l.hear(m, from, key)
}

func TestPublisherTellsOnlyWhomItReaches(t *testing.T) {
	keys, cfg := keyed(t)
	l := newLAN(t, 1, keys, cfg)
	pub := l.members[0].pub
	m := Message{Type: Subscribe, Session: 7, Group: group, Cookie: [cookieLen]byte{1}}
	out := l.hear(m, l.from, cfg.Key)
	require.Len(t, out, 1)
	assert.Equal(t, uint8(Cookie), out[0].Data[5], "a wrong cookie")
	assert.False(t, pub.Wanted(group))

	c, _, err := Parse(out[0].Data, []auth.Key{*cfg.Key})
	require.NoError(t, err)
	m.Cookie = c.Cookie
	for _, other := range []netip.AddrPort{netip.AddrPortFrom(own(50), l.from.Port()), netip.AddrPortFrom(l.from.Addr(), 1)} {
		assert.Equal(t, uint8(Cookie), l.hear(m, other, cfg.Key)[0].Data[5], "the cookie of another")
	}
	m.Session++
	assert.Equal(t, uint8(Cookie), l.hear(m, l.from, cfg.Key)[0].Data[5], "the cookie of another session")
	m.Session--
	assert.Empty(t, l.hear(m, l.from, cfg.Key))
	assert.True(t, pub.Wanted(group))
	told := pub.Tell(l.now, group, l.report(l.members[0]))
	require.Len(t, told, 1)
	assert.Equal(t, uint8(Members), told[0].Data[5])

	l.now = l.now.Add(lease - time.Millisecond)
	assert.Len(t, pub.Expire(l.now), 1)
	l.now = l.now.Add(time.Millisecond)
	assert.Empty(t, pub.Expire(l.now), "the lease is over")
	assert.Zero(t, pub.Deadline())

	l.now = l.now.Add(3 * secretAge)
	l.hear(Message{Type: Subscribe, Session: 8, Group: group}, l.from, cfg.Key)
	assert.Equal(t, uint8(Cookie), l.hear(m, l.from, cfg.Key)[0].Data[5], "an old cookie")
}

func TestPublisherTellsManyMoreSeldom(t *testing.T) {
	keys, cfg := keyed(t)
	l := newLAN(t, 1, keys, cfg)
	pub := l.members[0].pub
	const many = 500
	for i := range many {
		a := netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, 0x0a580000+uint32(i))))
		l.subscribe(netip.AddrPortFrom(a, 40000), uint64(i+1), cfg.Key)
	}
	require.Len(t, pub.Tell(l.now, group, l.report(l.members[0])), many)
	l.now = l.now.Add(time.Second)
	assert.Len(t, pub.Expire(l.now), many)
	sent := 0
	for range 100 {
		l.now = l.now.Add(10 * time.Millisecond)
		sent += len(pub.Expire(l.now))
	}
	assert.LessOrEqual(t, sent, 2*many)
	l.members[0].keep = true
	assert.Len(t, pub.Tell(l.now, group, l.report(l.members[0])), many, "a change is told to all at once")
	l.members[0].keep = false
	assert.Empty(t, pub.Tell(l.now, group, l.report(l.members[0])), "but not twice within a moment")
	assert.Equal(t, l.now.Add(changeGap), pub.Deadline())
	l.now = l.now.Add(changeGap)
	assert.Len(t, pub.Expire(l.now), many)
	assert.Empty(t, pub.Tell(l.now, group, l.report(l.members[0])), "nothing has changed")
}

func TestPublisherHasRoomForSoMany(t *testing.T) {
	keys, cfg := keyed(t)
	l := newLAN(t, 1, keys, cfg)
	pub := l.members[0].pub
	for i := range leastSubscribers + 1 {
		a := netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, 0x0a580000+uint32(i))))
		l.subscribe(netip.AddrPortFrom(a, 40000), uint64(i+1), cfg.Key)
	}
	assert.Len(t, pub.Subscribers(l.now, group), leastSubscribers)
	assert.Equal(t, uint64(1), pub.Refused()[envelope.RejectFull])
	l.now = l.now.Add(leastSubscribers * leaseEach)
	l.subscribe(netip.AddrPortFrom(own(50), 40000), 1, cfg.Key)
	assert.Len(t, pub.Subscribers(l.now, group), 1)
}

// Who has the followers' key may ask, and keeps nobody else from asking, by however many ports, or by a whole IPv6 network.
func TestPublisherHasRoomBesideOneHostWithAllPorts(t *testing.T) {
	keys, cfg := keyed(t)
	l := newLAN(t, 1, keys, cfg)
	pub := l.members[0].pub
	l.subscribe(netip.AddrPortFrom(own(50), 40000), 1, cfg.Key)
	for port := range uint16(3000) {
		l.subscribe(netip.AddrPortFrom(own(66), 1024+port), uint64(port)+1, cfg.Key)
	}
	assert.Len(t, pub.Subscribers(l.now, group), 1+mostOfHost, "its ports are one host's")
	assert.Equal(t, uint64(3000-mostOfHost), pub.Refused()[envelope.RejectFull])

	six := netip.MustParseAddr("2001:db8::").As16()
	for i := range 2 * leastSubscribers {
		binary.BigEndian.PutUint32(six[12:], uint32(i)+1)
		l.subscribe(netip.AddrPortFrom(netip.AddrFrom16(six), 40000), uint64(i)+1, cfg.Key)
	}
	require.Len(t, pub.Subscribers(l.now, group), leastSubscribers)
	for i := range 100 {
		l.subscribe(netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 99, 0, byte(i)}), 40000), 1, cfg.Key)
	}
	list := pub.Subscribers(l.now, group)
	assert.Len(t, list, leastSubscribers)
	assert.Equal(t, own(50), list[0].Address, "who was there first")
	assert.Equal(t, netip.AddrFrom4([4]byte{10, 99, 0, 99}), list[len(list)-1].Address, "and who comes last")
}

func TestPublisherForgetsWhoUsesAnOldKey(t *testing.T) {
	keys, cfg := keyed(t)
	l := newLAN(t, 1, keys, cfg)
	pub := l.members[0].pub
	l.subscribe(l.from, 1, cfg.Key)
	pub.SetKeys(keys)
	assert.True(t, pub.Wanted(group))
	pub.SetKeys(Keys{Keys: []auth.Key{*aKey(t, 'b')}})
	assert.False(t, pub.Wanted(group))
}

func TestPublisherOfWhatIsNotSpread(t *testing.T) {
	keys, cfg := keyed(t)
	l := newLAN(t, 1, keys, cfg)
	pub := l.members[0].pub
	assert.Empty(t, pub.Tell(l.now, group, l.report(l.members[0])), "nobody wants to know")
	assert.Empty(t, l.subscribe(l.from, 1, cfg.Key), "nothing is known yet")
	assert.Len(t, pub.Tell(l.now, group, l.report(l.members[0])), 1)
	assert.Empty(t, pub.Tell(l.now, group, nil))
	l.now = l.now.Add(time.Second)
	assert.Empty(t, pub.Expire(l.now))
	pub.Drop(group)
	assert.Empty(t, l.hear(Message{Type: Subscribe, Session: 7, Group: group}, l.from, cfg.Key))
	assert.Equal(t, uint64(1), pub.Refused()[envelope.RejectGroup])
}

// What a follower has asked before, sent once more by somebody else, does not end what it is told now.
func TestPublisherTellsEachSessionOfAFollower(t *testing.T) {
	keys, cfg := keyed(t)
	l := newLAN(t, 1, keys, cfg)
	pub := l.members[0].pub
	told := func() (sessions []uint64) {
		for _, o := range pub.Tell(l.now, group, l.report(l.members[0])) {
			sessions = append(sessions, binary.BigEndian.Uint64(o.Data[8:]))
		}
		return sessions
	}
	l.subscribe(l.from, 1, cfg.Key)
	l.subscribe(l.from, 2, cfg.Key)
	l.subscribe(l.from, 1, cfg.Key)
	assert.ElementsMatch(t, []uint64{1, 2}, told())
	for session := range uint64(50) {
		l.now = l.now.Add(time.Millisecond)
		l.subscribe(l.from, 100+session, cfg.Key)
	}
	assert.Len(t, pub.find(group).subscribers, mostSessions, "but it has not all places")
	assert.Equal(t, []Subscriber{{Address: l.from.Addr(), Since: l.now}}, pub.Subscribers(l.now, group), "it is one follower")
}

func TestPublisherAnswersQuestionsThatAreRepeatedSeldom(t *testing.T) {
	keys, cfg := keyed(t)
	l := newLAN(t, 1, keys, cfg)
	l.subscribe(l.from, 7, cfg.Key)
	l.members[0].pub.Tell(l.now, group, l.report(l.members[0]))
	answers := 0
	for range 100 {
		l.now = l.now.Add(time.Millisecond)
		for _, o := range l.subscribe(l.from, 7, cfg.Key) {
			assert.Equal(t, uint8(Members), o.Data[5])
			answers++
		}
		answers += len(l.members[0].pub.Expire(l.now))
	}
	assert.InDelta(t, 100*time.Millisecond/answerGap, answers, 1)
}

// Members that advertise each half a minute tell followers nevertheless.
func TestPublisherSaysWhatTheWireCanCarry(t *testing.T) {
	keys, cfg := keyed(t)
	l := newLAN(t, 1, keys, cfg)
	l.subscribe(l.from, 7, cfg.Key)
	r := l.report(l.members[0])
	r.Every, r.Members[0].Lifetime = 2*Never, 7*Never
	out := l.members[0].pub.Tell(l.now, group, r)
	require.Len(t, out, 1)
	m, _, err := Parse(out[0].Data, keys.Keys)
	require.NoError(t, err)
	assert.Equal(t, []time.Duration{Never, Never}, []time.Duration{m.List.Every, m.List.Members[0].Lifetime})
}

func TestServerCountsWhatItHasNoRoomFor(t *testing.T) {
	s := NewServer(9646, slog.New(slog.DiscardHandler))
	r := &serving{inbox: make(chan Packet, mostWaiting), wake: make(chan struct{}, 1), stop: make(chan struct{})}
	b, err := Message{Type: Subscribe, Session: 7, Group: group}.Append(nil, nil)
	require.NoError(t, err)
	in := Packet{Data: b, From: netip.AddrPortFrom(own(50), 40000), To: own(1), TTL: 60}
	s.Hear(in)
	assert.Empty(t, s.Refused(), "nobody is served")
	s.run = r
	for range mostWaiting + 5 {
		s.Hear(in)
	}
	assert.Equal(t, map[envelope.Reason]uint64{envelope.RejectFlood: 5}, s.Refused())
	b[0] = 0
	got, err := r.received(nil)
	require.NoError(t, err)
	assert.NotZero(t, got.Data[0], "the reader's buffer is its own again")
	s.hear(r, got)
	assert.Equal(t, uint64(1), s.Refused()[envelope.RejectUnsigned])
}

func FuzzPublisher(f *testing.F) {
	b, err := Message{Type: Subscribe, Session: 7, Group: group}.Append(nil, nil)
	require.NoError(f, err)
	f.Add(b, uint16(envelope.SourcePort), 255)
	f.Fuzz(func(t *testing.T, b []byte, port uint16, ttl int) {
		l := newLAN(t, 1, Keys{Open: true}, asking{})
		for _, o := range l.members[0].pub.Hear(l.now, Packet{Data: b, From: netip.AddrPortFrom(own(50), port), To: own(1), TTL: ttl}) {
			assert.LessOrEqual(t, len(o.Data), len(b))
		}
		l.follower.Hear(l.now, b)
	})
}

func TestPublisherSaysWhoHasSubscribed(t *testing.T) {
	keys, cfg := keyed(t)
	l := newLAN(t, 3, keys, cfg)
	l.until(time.Second, slots.Fit, slots.Fit, slots.Fit)
	pub, begin := l.members[0].pub, l.now
	l.run(3 * lease)
	list := pub.Subscribers(l.now, group)
	require.Len(t, list, 1)
	assert.Equal(t, []any{l.from.Addr(), "w-1"}, []any{list[0].Address, list[0].Node})
	assert.WithinDuration(t, begin, list[0].Since, time.Second, "a renewal is no beginning")
	assert.Empty(t, pub.Subscribers(l.now, own(9)), "of another address")
	assert.Empty(t, pub.Subscribers(l.now.Add(lease), group), "it has not asked again")

	now := l.now
	l.subscribe(l.from, 99, cfg.Key)
	assert.Equal(t, now, pub.Subscribers(now, group)[0].Since, "a follower that was started again")
}
