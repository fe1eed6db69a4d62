package subscription

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/auth"
	"github.com/keepvip/keepvip/members/envelope"
	"github.com/keepvip/keepvip/members/slots"
)

// lan is a virtual network with members, which hear each other's words each interval, and one follower.
type lan struct {
	t        *testing.T
	now      time.Time
	members  []*node
	holder   *node // answers at the virtual address
	follower *Machine
	from     netip.AddrPort
	ttl      int
	barred   func(netip.Addr) bool // the follower cannot reach that address; nil: it reaches all
	wires    []flight
	asked    int
	seed     uint64
}

// node is a member.
type node struct {
	at   netip.Addr
	pub  *Publisher
	dead bool // its host is
	mute bool // its keepvip is not there
	keep bool // its service is not healthy
	last time.Time
	next time.Time
	cut  []netip.Addr // whom it does not hear
	// clock is by how much its clock is wrong.
	clock time.Duration
}

type flight struct {
	at time.Time
	do func()
}

const (
	tick  = time.Millisecond
	delay = time.Millisecond
	hello = 100 * time.Millisecond
	life  = 350 * time.Millisecond
	// perish is how long members take to find out that a host does not answer.
	perish = 400 * time.Millisecond
)

// asking is how the follower of a lan asks, and whom.
type asking struct {
	Key             *auth.Key
	Listed, Virtual []netip.Addr
}

func newLAN(t *testing.T, members int, keys Keys, cfg asking) *lan {
	l := &lan{t: t, now: time.Unix(1_000_000, 0), from: netip.MustParseAddrPort("10.88.0.7:40000"), ttl: 60}
	for i := range members {
		n := &node{at: own(i + 1), pub: NewPublisher(l.random), last: l.now}
		n.pub.SetKeys(keys)
		n.pub.Serve(group)
		l.members = append(l.members, n)
	}
	if members > 0 {
		l.holder = l.members[0]
	}
	l.follower = NewMachine(group, "w-1", cfg.Key, l.random)
	l.follower.Know(cfg.Listed, cfg.Virtual)
	return l
}

func (l *lan) random() uint64 { l.seed += 0x9e3779b97f4a7c15; return l.seed * 0xbf58476d1ce4e5b9 }

// at is who has an address.
func (l *lan) at(a netip.Addr) *node {
	if a == group {
		return l.holder
	}
	for _, n := range l.members {
		if n.at == a || other(n.at) == a {
			return n
		}
	}
	return nil
}

// other is the address of the other family that the host has.
func other(a netip.Addr) netip.Addr {
	b := netip.MustParseAddr("fd77::").As16()
	b[15] = a.As4()[3]
	return netip.AddrFrom16(b)
}

// time is what the clock of a member shows.
func (l *lan) time(n *node) time.Time { return l.now.Add(n.clock) }

func (l *lan) after(d time.Duration, do func()) { l.wires = append(l.wires, flight{l.now.Add(d), do}) }

func (l *lan) ask(all []Ask) {
	for _, a := range all {
		l.asked++
		l.after(delay, func() {
			if n := l.at(a.To); n != nil && !n.dead && !n.mute && (l.barred == nil || !l.barred(a.To)) {
				in := Packet{Data: a.Data, From: l.from, To: a.To, TTL: l.ttl}
				l.send(n, n.pub.Hear(l.time(n), in))
			}
		})
	}
}

func (l *lan) send(n *node, all []Outgoing) {
	for _, o := range all {
		l.after(delay, func() {
			if n.dead {
				return
			}
			l.ask(l.follower.Hear(l.now, o.Data))
		})
	}
}

// report is what a member knows.
func (l *lan) report(n *node) *Report {
	r := &Report{Every: hello}
	for i, o := range l.members {
		s := aMember(i + 1)
		s.Other = other(o.at)
		s.Self = o == n
		s.Ports = []Port{{Protocol: 6, Port: 6443, Condition: slots.Fit}}
		heard := o.last
		if slices.Contains(n.cut, o.at) {
			heard = l.now.Add(-perish)
		}
		s.Age = 0
		if o != n {
			s.Age = l.now.Sub(heard)
		}
		switch silent := l.now.Sub(heard); {
		case o == n && !o.keep:
		case o.keep, silent >= life:
			s.Ports[0].Condition = slots.Keeps
			fallthrough
		default:
			if o != n && silent >= perish && (o.dead || slices.Contains(n.cut, o.at)) {
				s.Ports[0].Condition = slots.Dead
			}
		}
		r.Members = append(r.Members, s)
	}
	return r
}

// run lets time pass.
func (l *lan) run(d time.Duration) {
	for end := l.now.Add(d); l.now.Before(end); l.now = l.now.Add(tick) {
		flying := l.wires
		l.wires = nil
		for _, w := range flying {
			if w.at.After(l.now) {
				l.wires = append(l.wires, w)
			} else {
				w.do()
			}
		}
		for _, n := range l.members {
			if n.dead || n.mute {
				continue
			}
			if !l.now.Before(n.next) {
				n.last, n.next = l.now, l.now.Add(hello)
			}
			l.send(n, n.pub.Tell(l.time(n), group, l.report(n)))
			if due := n.pub.Deadline(); !due.IsZero() && !l.time(n).Before(due) {
				l.send(n, n.pub.Expire(l.time(n)))
			}
		}
		if due := l.follower.Deadline(l.now); !due.IsZero() && !l.now.Before(due) {
			l.ask(l.follower.Expire(l.now))
		}
	}
}

// conditions are those of the members, as the follower sees them.
func (l *lan) conditions() (out []slots.Condition) {
	all, _ := l.follower.Picture(l.now)
	for _, s := range all {
		out = append(out, s.On(6, 6443))
	}
	return out
}

func (l *lan) told() bool { _, told := l.follower.Picture(l.now); return told }

// until runs until the conditions are these, and returns how long that took.
func (l *lan) until(most time.Duration, want ...slots.Condition) time.Duration {
	l.t.Helper()
	begin := l.now
	for l.now.Sub(begin) < most {
		l.run(tick)
		if slices.Equal(l.conditions(), want) {
			return l.now.Sub(begin)
		}
	}
	require.Equal(l.t, want, l.conditions(), "after %v", most)
	return most
}

func keyed(t *testing.T) (Keys, asking) {
	k := aKey(t, 'a')
	return Keys{Keys: []auth.Key{*aKey(t, 'b'), *k}}, asking{Key: k, Virtual: []netip.Addr{group}}
}

func TestFollowerFindsMembersByTheVirtualAddress(t *testing.T) {
	keys, cfg := keyed(t)
	l := newLAN(t, 3, keys, cfg)
	assert.False(t, l.told())
	took := l.until(time.Second, slots.Fit, slots.Fit, slots.Fit)
	assert.Less(t, took, 50*time.Millisecond)
	l.run(3 * time.Second)
	assert.Equal(t, []netip.Addr{own(1), own(2), own(3)}, l.follower.By(l.now), "each by its own address")
	assert.Equal(t, []netip.Addr{own(1), own(2), own(3)}, l.follower.Known())
}

func TestFollowerFindsMembersThatAreListed(t *testing.T) {
	keys, cfg := keyed(t)
	cfg.Virtual, cfg.Listed = nil, []netip.Addr{own(9), own(2)} // of which one is not there
	l := newLAN(t, 3, keys, cfg)
	l.until(time.Second, slots.Fit, slots.Fit, slots.Fit)
}

func TestFollowerFindsMembersByAHint(t *testing.T) {
	keys, cfg := keyed(t)
	cfg.Virtual = nil
	l := newLAN(t, 3, keys, cfg)
	l.run(time.Second)
	assert.False(t, l.told())
	l.follower.Hint(l.now, own(3))
	l.until(time.Second, slots.Fit, slots.Fit, slots.Fit)
}

func TestFollowerRenewsItsSubscriptions(t *testing.T) {
	keys, cfg := keyed(t)
	l := newLAN(t, 3, keys, cfg)
	l.until(time.Second, slots.Fit, slots.Fit, slots.Fit)
	l.run(time.Second)
	before := l.asked
	for range 4 * int(lease/time.Second) {
		l.run(time.Second)
		require.Equal(t, []slots.Condition{slots.Fit, slots.Fit, slots.Fit}, l.conditions())
	}
	assert.LessOrEqual(t, l.asked-before, 3*4*3+3, "each third of a lease")
}

func TestFollowerHearsOfAChangeAtOnce(t *testing.T) {
	keys, cfg := keyed(t)
	l := newLAN(t, 3, keys, cfg)
	l.until(time.Second, slots.Fit, slots.Fit, slots.Fit)
	l.run(time.Second)
	l.members[1].keep = true
	assert.LessOrEqual(t, l.until(time.Second, slots.Fit, slots.Keeps, slots.Fit), 20*time.Millisecond)
	l.members[1].keep = false
	assert.LessOrEqual(t, l.until(time.Second, slots.Fit, slots.Fit, slots.Fit), 20*time.Millisecond)
}

func TestFollowerHearsOfAHostThatDies(t *testing.T) {
	for _, members := range []int{2, 3, 5, 7} {
		keys, cfg := keyed(t)
		l := newLAN(t, members, keys, cfg)
		want := slices.Repeat([]slots.Condition{slots.Fit}, members)
		l.until(time.Second, want...)
		l.run(time.Second)
		l.holder = l.members[1]
		l.members[0].dead = true
		want[0] = slots.Dead
		assert.LessOrEqual(t, l.until(time.Second, want...), perish+50*time.Millisecond, "%d members", members)
		l.run(2 * time.Second)
		assert.Equal(t, want, l.conditions())
		l.members[0].dead = false
		want[0] = slots.Fit
		l.until(5*time.Second, want...)
	}
}

func TestFollowerKeepsConnectionsToAMemberWithoutKeepvip(t *testing.T) {
	keys, cfg := keyed(t)
	l := newLAN(t, 3, keys, cfg)
	l.until(time.Second, slots.Fit, slots.Fit, slots.Fit)
	l.members[2].mute = true
	l.until(time.Second, slots.Fit, slots.Fit, slots.Keeps)
	l.run(2 * time.Second)
	assert.Equal(t, []slots.Condition{slots.Fit, slots.Fit, slots.Keeps}, l.conditions(), "its host answers")
}

// What a member says that has lost the others does not count against what they say themselves.
func TestFollowerBelievesTheNewestWord(t *testing.T) {
	keys, cfg := keyed(t)
	l := newLAN(t, 3, keys, cfg)
	l.until(time.Second, slots.Fit, slots.Fit, slots.Fit)
	l.members[0].cut = []netip.Addr{own(2), own(3)}
	for range 20 {
		l.run(100 * time.Millisecond)
		require.Equal(t, []slots.Condition{slots.Fit, slots.Fit, slots.Fit}, l.conditions())
	}
}

func TestFollowerGoesByWhatWasKnownWhileNobodyTells(t *testing.T) {
	keys, cfg := keyed(t)
	l := newLAN(t, 3, keys, cfg)
	l.until(time.Second, slots.Fit, slots.Fit, slots.Fit)
	for _, n := range l.members {
		n.mute = true
	}
	l.run(2 * time.Second)
	assert.False(t, l.told())
	assert.Equal(t, []slots.Condition{slots.Fit, slots.Fit, slots.Fit}, l.conditions())
	before := l.asked
	l.run(30 * time.Second)
	assert.LessOrEqual(t, l.asked-before, 50, "four are asked each 3 s")
	for _, n := range l.members {
		n.mute = false
	}
	l.run(askSeldom + 100*time.Millisecond)
	assert.True(t, l.told())
}

func TestFollowerWithAnotherKeyIsTold(t *testing.T) {
	keys, cfg := keyed(t)
	cfg.Key = aKey(t, 'c')
	l := newLAN(t, 3, keys, cfg)
	l.run(2 * time.Second)
	assert.False(t, l.told())
	assert.NotZero(t, l.members[0].pub.Refused()[envelope.RejectKey])
	assert.Empty(t, l.follower.Refused(), "nobody has answered")
}

func TestFollowerWithoutAKeyIsHeardOnTheLinkAlone(t *testing.T) {
	for name, tt := range map[string]struct {
		open bool
		ttl  int
		port uint16
		want envelope.Reason // "": it is told
	}{
		"on the link":             {true, envelope.HopLimit, envelope.SourcePort, ""},
		"behind a router":         {true, envelope.HopLimit - 1, envelope.SourcePort, envelope.RejectTTL},
		"from a port for anybody": {true, envelope.HopLimit, 40000, envelope.RejectPort},
		"where a key is wanted":   {false, envelope.HopLimit, envelope.SourcePort, envelope.RejectUnsigned},
	} {
		l := newLAN(t, 3, Keys{Keys: []auth.Key{*aKey(t, 'a')}, Open: tt.open}, asking{Listed: []netip.Addr{own(1)}})
		l.ttl, l.from = tt.ttl, netip.AddrPortFrom(l.from.Addr(), tt.port)
		l.run(time.Second)
		assert.Equal(t, tt.want == "", l.told(), name)
		if tt.want != "" {
			assert.NotZero(t, l.members[0].pub.Refused()[tt.want], name)
		}
	}
}

func TestFollowerRefusesForgedAnswers(t *testing.T) {
	keys, cfg := keyed(t)
	l := newLAN(t, 3, keys, cfg)
	l.until(time.Second, slots.Fit, slots.Fit, slots.Fit)
	session := l.follower.peers[slices.IndexFunc(l.follower.peers, func(p *peer) bool { return p.tells(l.now) })].session
	forged := aList()
	forged.Session, forged.Sequence = session, 1<<62
	for name, tt := range map[string]struct {
		key  *auth.Key
		edit func(*Message)
		want envelope.Reason
	}{
		"unsigned":             {nil, func(*Message) {}, envelope.RejectUnsigned},
		"another key":          {aKey(t, 'z'), func(*Message) {}, envelope.RejectKey},
		"answers no question":  {cfg.Key, func(m *Message) { m.Session++ }, envelope.RejectSession},
		"older than the last":  {cfg.Key, func(m *Message) { m.Sequence = 1 }, envelope.RejectReplay},
		"of another address":   {cfg.Key, func(m *Message) { m.Group = own(1) }, envelope.RejectGroup},
		"a follower's message": {cfg.Key, func(m *Message) { *m = Message{Type: Subscribe, Session: session, Group: group} }, envelope.RejectType},
	} {
		m := forged
		tt.edit(&m)
		b, err := m.Append(nil, tt.key)
		require.NoError(t, err)
		before := l.follower.Refused()[tt.want]
		assert.Empty(t, l.follower.Hear(l.now, b))
		assert.Equal(t, before+1, l.follower.Refused()[tt.want], name)
	}
	assert.Equal(t, []slots.Condition{slots.Fit, slots.Fit, slots.Fit}, l.conditions())
}

// Its host has died between a question and the answer, and comes back with a clock that is behind, so that all it says looks like a repetition.
func TestFollowerHearsAMemberAgainWhoseClockIsBehind(t *testing.T) {
	keys, cfg := keyed(t)
	l := newLAN(t, 3, keys, cfg)
	l.until(time.Second, slots.Fit, slots.Fit, slots.Fit)
	l.run(3 * time.Second)
	l.barred = netip.Addr.Is6
	back := l.members[1]
	p := l.follower.peers[slices.IndexFunc(l.follower.peers, func(p *peer) bool { return p.address == back.at })]
	require.Len(t, l.follower.ask(l.now, p), 1, "a question that nobody hears")
	back.dead = true
	l.run(5 * time.Second)
	back.dead, back.clock, back.pub = false, -time.Hour, NewPublisher(l.random)
	back.pub.SetKeys(keys)
	back.pub.Serve(group)
	l.run(2 * askSeldom)
	assert.Contains(t, l.follower.By(l.now), back.at)
}

// As where a firewall lets in what is for the virtual address alone.
func TestFollowerIsToldByTheVirtualAddressWhereItReachesNoOther(t *testing.T) {
	keys, cfg := keyed(t)
	l := newLAN(t, 3, keys, cfg)
	l.barred = func(a netip.Addr) bool { return a != group }
	l.until(time.Second, slots.Fit, slots.Fit, slots.Fit)
	for range 300 {
		l.run(100 * time.Millisecond)
		require.True(t, l.told(), "without a gap")
	}
}

func TestFollowerAsksAMemberAtItsOtherAddress(t *testing.T) {
	keys, cfg := keyed(t)
	l := newLAN(t, 3, keys, cfg)
	l.barred = func(a netip.Addr) bool { return a.Is4() && a != group }
	l.until(time.Second, slots.Fit, slots.Fit, slots.Fit)
	l.run(30 * time.Second)
	want := []netip.Addr{other(own(1)), other(own(2)), other(own(3))}
	got := l.follower.By(l.now)
	slices.SortFunc(got, netip.Addr.Compare)
	assert.Equal(t, want, got)
}

// A member that was taken out of the cluster is not found again in what one has said of it that died before.
func TestFollowerForgetsWhatWasSaidLongAgo(t *testing.T) {
	keys, cfg := keyed(t)
	cfg.Listed = []netip.Addr{own(1)}
	l := newLAN(t, 3, keys, cfg)
	l.until(time.Second, slots.Fit, slots.Fit, slots.Fit)
	l.run(3 * time.Second)
	l.holder = l.members[1]
	l.members[0].dead = true
	l.run(time.Second)
	l.members = l.members[1:2] // the third is gone for good
	l.run(2 * forgetAfter)
	l.members[0].mute = true
	l.run(time.Second)
	all, told := l.follower.Picture(l.now)
	assert.False(t, told)
	require.Len(t, all, 1)
	assert.Equal(t, []netip.Addr{all[0].Address}, l.follower.Known())
}

// An int of 32 bits, as on ARMv7, has no room for two seconds.
func TestFollowerBelievesTheNewestWordHoweverOldTheOtherOneIs(t *testing.T) {
	m := NewMachine(own(100), "", nil, nil)
	now := time.Now()
	said := func(weight uint8, age time.Duration) line {
		return line{Member{Address: own(1), Weight: weight, Age: age}, &peer{heard: now}}
	}
	for _, apart := range []time.Duration{time.Second, 3 * time.Second, 5 * time.Second, time.Minute} {
		s, ok := m.state(now, []line{said(2, time.Second+apart), said(1, time.Second)}, false)
		require.True(t, ok)
		assert.Equal(t, uint8(1), s.Weight, apart)
	}
}

// A link-local address does not say on which link.
func TestFollowerAsksNobodyAtALinkLocalAddress(t *testing.T) {
	local := netip.MustParseAddr("fe80::12")
	m := NewMachine(own(100), "", nil, func() uint64 { return 1 })
	m.Know([]netip.Addr{local}, []netip.Addr{own(100)})
	now := time.Now()
	m.Hint(now, local)
	var to []netip.Addr
	for _, a := range m.Expire(now) {
		to = append(to, a.To)
	}
	assert.Equal(t, []netip.Addr{own(100)}, to)
}
