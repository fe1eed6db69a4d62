package subscription

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/members/envelope"
	"github.com/keepvip/keepvip/members/slots"
)

// crowd is a cluster of the largest size in virtual time: each member takes what its server does of the questions, and each follower is a machine.
type crowd struct {
	t       *testing.T
	now     time.Time
	members []*asked
	all     []*crowded
	at      map[netip.AddrPort]*crowded
	keep    bool // the service of the last member is not healthy
}

// asked is a member with what waits for it.
type asked struct {
	at      netip.Addr
	pub     *Publisher
	waiting []Packet
	refused int
	heard   int // datagrams
	sent    int
	bursts  int
}

// crowded is a follower.
type crowded struct {
	*Machine
	from  netip.AddrPort
	next  time.Time
	begun bool
}

const step = 10 * time.Millisecond

func newCrowd(t *testing.T, n int) *crowd {
	keys, cfg := keyed(t)
	l := &crowd{t: t, now: time.Unix(1_000_000, 0), at: map[netip.AddrPort]*crowded{}}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 3 {
		m := &asked{at: own(i + 1), pub: NewPublisher(r.Uint64)}
		m.pub.most = roomIn(16 << 30)
		m.pub.SetKeys(keys)
		m.pub.Serve(group)
		l.members = append(l.members, m)
		cfg.Listed = append(cfg.Listed, own(i+1))
	}
	for i := range n {
		f := &crowded{Machine: NewMachine(group, fmt.Sprintf("w-%d", i), cfg.Key, r.Uint64), from: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 88, byte(i >> 8), byte(i)}), 40000)}
		f.Know(cfg.Listed, cfg.Virtual)
		l.all = append(l.all, f)
		l.at[f.from] = f
	}
	return l
}

// begin has all followers start at one moment, as after a power cut.
func (l *crowd) begin() {
	for _, f := range l.all {
		f.begun, f.next = true, l.now
	}
}

func (l *crowd) ask(f *crowded, all []Ask) {
	for _, a := range all {
		for _, m := range l.members {
			switch {
			case m.at != a.To:
			case len(m.waiting) >= mostWaiting:
				m.refused++
			default:
				m.waiting = append(m.waiting, Packet{Data: a.Data, From: f.from, To: m.at, TTL: 60})
			}
		}
	}
}

func (l *crowd) send(m *asked, all []Outgoing) {
	m.sent += len(all)
	for _, o := range all {
		f := l.at[o.To]
		l.ask(f, f.Hear(l.now, o.Data))
		f.next = l.now
	}
}

func (l *crowd) report(m *asked) *Report {
	r := &Report{Every: hello}
	for i, o := range l.members {
		one := aMember(i + 1)
		one.Self, one.Address, one.Age, one.Lifetime = o == m, o.at, 0, life
		if i == len(l.members)-1 && l.keep {
			one.Ports[0].Condition = slots.Keeps
		}
		r.Members = append(r.Members, one)
	}
	return r
}

// run lets time pass. A member hears a hundred datagrams in ten milliseconds, and sends what is due in bursts.
func (l *crowd) run(d time.Duration, until func() bool) time.Duration {
	for passed := time.Duration(0); ; passed += step {
		if passed >= d || until != nil && until() {
			return passed
		}
		for _, f := range l.all {
			if f.begun && !l.now.Before(f.next) {
				l.ask(f, f.Expire(l.now))
				f.next = f.Deadline(l.now)
			}
		}
		for _, m := range l.members {
			n := min(len(m.waiting), inBreath)
			batch := m.waiting[:n]
			m.waiting = m.waiting[n:]
			m.heard += n
			for _, in := range batch {
				l.send(m, m.pub.Hear(l.now, in))
			}
			if l.now.UnixNano()%int64(hello) == 0 && m.pub.Wanted(group) {
				l.send(m, m.pub.Tell(l.now, group, l.report(m)))
			}
			for next := m.pub.Deadline(); !next.IsZero() && !l.now.Before(next); next = m.pub.Deadline() {
				l.send(m, m.pub.Expire(l.now))
				m.bursts++
			}
		}
		l.now = l.now.Add(step)
	}
}

// everyone tells, each time that it is called, whether all followers have had a picture in which the last member's service is so.
func (l *crowd) everyone(want slots.Condition) func() bool {
	known := 0
	return func() bool {
		for ; known < len(l.all); known++ {
			all, told := l.all[known].Picture(l.now)
			if !told || len(all) != len(l.members) || all[len(all)-1].Ports[0].Condition != want {
				return false
			}
		}
		return true
	}
}

// All workers of the largest cluster start at one moment, are told, and go on being told at a pace that costs their members little.
func TestFiveThousandFollowersAreTold(t *testing.T) {
	const many = 5000
	l := newCrowd(t, many)
	l.begin()
	took := l.run(5*time.Second, l.everyone(slots.Fit))
	t.Logf("all are told %v after their start", took)
	assert.LessOrEqual(t, took, 2*time.Second)
	l.run(20*time.Second, nil)
	for _, m := range l.members {
		require.Len(t, m.pub.Subscribers(l.now, group), many, "each of them asks three members")
		m.heard, m.sent, m.bursts, m.refused = 0, 0, 0, 0
	}

	const long = 20 * time.Second
	l.run(long, nil)
	for _, m := range l.members {
		heard, sent, bursts := m.heard/int(long/time.Second), m.sent/int(long/time.Second), m.bursts/int(long/time.Second)
		t.Logf("a second: %d questions, %d answers, in %d bursts", heard, sent, bursts)
		assert.LessOrEqual(t, heard, 350)
		assert.LessOrEqual(t, sent, 1500)
		assert.LessOrEqual(t, bursts, int(time.Second/pause))
		assert.Zero(t, m.refused)
		m.sent, m.bursts = 0, 0
	}
	require.True(t, l.everyone(slots.Fit)())

	l.keep = true
	took = l.run(time.Second, l.everyone(slots.Keeps))
	t.Logf("all know a change %v after it", took)
	assert.LessOrEqual(t, took, hello+2*step, "a member looks once in an interval whether there is one")
	for _, m := range l.members {
		assert.LessOrEqual(t, m.bursts, many/burst+8)
	}
}

// What there is no room for is refused, and the others go on.
func TestRoomForFollowersGrowsWithTheMemory(t *testing.T) {
	assert.Equal(t, leastSubscribers, roomIn(0))
	assert.Equal(t, 8192, roomIn(4<<30))
	assert.Equal(t, mostSubscribers, roomIn(1<<40))
	const asked, places = 6000, 5000
	keys, cfg := keyed(t)
	l := newLAN(t, 1, keys, cfg)
	pub := l.members[0].pub
	pub.most = places
	for i := range asked {
		l.subscribe(netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 88, byte(i >> 8), byte(i)}), 40000), 1, cfg.Key)
	}
	taken, most := pub.Room(group)
	assert.Equal(t, []int{places, places}, []int{taken, most})
	assert.Equal(t, uint64(asked-places), pub.Refused()[envelope.RejectFull])
	list := pub.Subscribers(l.now, group)
	assert.Equal(t, netip.AddrFrom4([4]byte{10, 88, 0, 0}), list[0].Address, "who was there first")
	assert.Len(t, list, places)
}
