package spread

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/kernel/spreadtables"
)

// client is one with the port of the address.
func client(n int) election.Client {
	return election.Client{At: netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, byte(2 + n>>8), byte(n)}), 40000), Port: 9443}
}

// connection is that client's to the address.
func connection(n int) spreadtables.Client {
	return spreadtables.Client{At: client(n).At, To: netip.AddrPortFrom(addr(100), 9443)}
}

// says has a member say these clients.
func (b *bench) says(n byte, list ...election.Client) {
	b.host.set(addr(n), true)
	s := said(true)
	s.Clients = list
	b.elector.set(election.Member{Address: addr(n), Spread: s, Fit: new(true)})
}

// dies has a member's host be gone.
func (b *bench) dies(n byte) {
	b.host.set(addr(n), false)
	b.elector.silence(addr(n))
}

func (b *bench) hold() {
	b.elector.set(election.Member{Address: addr(11), Self: true, Node: "n1", State: election.Active})
}

func (b *bench) poked() []spreadtables.Client {
	b.host.mu.Lock()
	defer b.host.mu.Unlock()
	return slices.Clone(b.host.poked)
}

// A client that says nothing would not learn of it until it does.
func TestHolderTellsTheClientsOfAMemberThatDies(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.hold()
		b.says(12, client(1))
		b.says(13, client(3))
		b.begin()
		time.Sleep(settle + 3*tick)
		b.says(12, client(2))
		time.Sleep(3 * tick)
		assert.Empty(t, b.poked())

		began := time.Now()
		b.dies(12)
		for len(b.poked()) == 0 && time.Since(began) < 5*time.Second {
			time.Sleep(10 * time.Millisecond)
		}
		assert.ElementsMatch(t, []spreadtables.Client{connection(1), connection(2)}, b.poked())
		assert.LessOrEqual(t, time.Since(began), 450*time.Millisecond)
		assert.Contains(t, b.shares(), "10.77.0.12 dead")
		time.Sleep(10 * time.Second)
		assert.Len(t, b.poked(), 2*len(askClientsAfter), "each of them each time")
	})
}

func TestBackupTellsNobodyUntilItHoldsTheAddress(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.says(12, client(1))
		b.begin()
		time.Sleep(settle + 3*tick)
		b.dies(12)
		time.Sleep(2 * time.Second)
		assert.Empty(t, b.poked())
		b.hold()
		time.Sleep(2*tick + time.Second)
		assert.Equal(t, slices.Repeat([]spreadtables.Client{connection(1)}, len(askClientsAfter)), b.poked())
	})
}

func TestHolderTellsClientsOfTheDeadAsSoonAsItHoldsTheAddress(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.says(12, client(1))
		b.begin()
		time.Sleep(settle + 3*tick)
		b.dies(12)
		time.Sleep(2*time.Second + tick/2)
		b.elector.mu.Lock()
		b.elector.members[addr(11)] = election.Member{Address: addr(11), Self: true, Node: "n1", State: election.Active}
		b.elector.mu.Unlock()
		require.NoError(t, b.service.Apply(t.Context(), election.Decision{Role: election.Serve}))
		time.Sleep(askClientsAfter[0] + time.Millisecond)
		assert.Len(t, b.poked(), 1)
	})
}

// Without a key anybody on the link can invent members that die.
func TestServiceWritesSoManyLinesAboutClientsOfTheDead(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.hold()
		b.begin()
		time.Sleep(settle)
		for range 3 * mostLines {
			b.elector.mu.Lock()
			b.elector.frozen = map[netip.Addr]bool{}
			b.elector.mu.Unlock()
			b.says(12, client(1))
			time.Sleep(3 * tick)
			b.dies(12)
			time.Sleep(time.Second)
		}
		assert.Equal(t, mostLines, b.log.lines("clients are told"))
		assert.Len(t, b.poked(), len(askClientsAfter)*3*mostLines)
	})
}

// Its connections go on, where keepvip alone has died. A holder that masquerades has had all traffic go by way of it.
func TestHolderTellsClientsOfASilentMemberIfThatHasMasqueraded(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg  setup
		want []spreadtables.Client
	}{"direct": {spreadOne(), nil}, "masquerade": {masquerading(), slices.Repeat([]spreadtables.Client{connection(1)}, len(askClientsAfter))}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, tt.cfg, func(t *testing.T, b *bench) {
				b.hold()
				b.says(12, client(1))
				b.begin()
				time.Sleep(settle + 3*tick)
				b.elector.silence(addr(12))
				time.Sleep(2 * time.Second)
				assert.Equal(t, tt.want, b.poked())
			})
		})
	}
}

func TestServiceSaysTheClientsOfItsConnections(t *testing.T) {
	own := spreadtables.Client{At: netip.AddrPortFrom(addr(100), 50000), To: netip.AddrPortFrom(addr(100), 9443)}
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.onHost(func(h *fakeHost) { h.clients = []spreadtables.Client{connection(1), own, connection(2)} })
		b.begin()
		time.Sleep(settle + countEvery)
		assert.Equal(t, []election.Client{client(1), client(2)}, b.elector.own().Clients)
		times := b.elector.times()
		time.Sleep(countEvery - 2*tick)
		assert.Equal(t, times, b.elector.times(), "what is the same is not said again")
		b.onHost(func(h *fakeHost) { h.clients, h.uncounted = nil, assert.AnError })
		time.Sleep(countEvery)
		assert.Len(t, b.elector.own().Clients, 2, "the kernel has not said that they are gone")
		b.onHost(func(h *fakeHost) { h.uncounted = nil })
		time.Sleep(countEvery)
		assert.Empty(t, b.elector.own().Clients)
	})
}

func TestClientsThatAMemberSaysNoMoreAreForgotten(t *testing.T) {
	var c clients
	at := time.Now()
	c.hear(at, []election.Client{client(1)}, 10)
	c.hear(at.Add(clientTime-time.Second), []election.Client{client(2)}, 10)
	c.hear(at.Add(clientTime), []election.Client{client(3)}, 10)
	c.hear(at.Add(clientTime), []election.Client{client(4)}, 10) // heard before
	assert.ElementsMatch(t, []election.Client{client(2), client(3)}, c.take(clientTime))
	assert.Empty(t, c.take(clientTime))
}

func TestClientsAreBounded(t *testing.T) {
	var c clients
	at := time.Now()
	for i := range 200 {
		c.hear(at.Add(time.Duration(i)*time.Millisecond), []election.Client{client(i)}, 100)
	}
	require.Len(t, c.seen, 100)
	c.hear(at.Add(clientTime), []election.Client{client(200)}, 100)
	require.NotContains(t, c.seen, client(200))
	c.forget(at.Add(2*clientTime), clientTime)
	c.hear(at.Add(2*clientTime), []election.Client{client(1 << 14)}, 100)
	assert.Len(t, c.seen, 1, "the old ones make room")
	c.hear(at.Add(3*clientTime), []election.Client{client(0)}, 0)
	assert.Len(t, c.seen, 1, "others have taken all the room")
}

// Without a key anybody on the link can invent members.
func TestClientsOfAllMembersTogetherAreBounded(t *testing.T) {
	var r roster
	now := time.Now()
	for i := range byte(5) {
		m := r.find(addr(20+i), true)
		for round := range election.MostClients {
			now = now.Add(time.Millisecond)
			s := said(true)
			s.Clients = []election.Client{client(int(i)*election.MostClients + round)}
			r.update(now, m, &election.Member{Spread: s, LastHeard: now})
		}
	}
	assert.Equal(t, mostClients, r.remembered())
}

// speaks has a member of a roster say these clients at that time.
func speaks(n byte, at time.Time, every time.Duration, list ...election.Client) election.Member {
	m := spreads(addr(n))
	m.Spread.Every, m.Spread.Clients, m.LastHeard = every, list, at
	return m
}

func many(from, n int) (list []election.Client) {
	for i := range n {
		list = append(list, client(from+i))
	}
	return list
}

// Short connections, as of kubectl, leave clients behind that are none any more.
func TestClientsThatAreNoneAnyMoreTakeNoRoomFromThoseOfAnotherMember(t *testing.T) {
	now := time.Now()
	r := roster{pace: pace{interval}, self: addr(11)}
	n := mostClients/2 - 10
	r.hear(now, []election.Member{speaks(12, now, interval, many(0, n)...), speaks(13, now, interval, many(n, n)...)})
	for range int(clientTime/time.Second) + 10 {
		now = now.Add(time.Second)
		r.hear(now, []election.Member{speaks(12, now, interval, client(0)), speaks(13, now, interval, client(n)), speaks(14, now, interval)})
	}
	now = now.Add(interval)
	r.hear(now, []election.Member{speaks(12, now, interval, client(0)), speaks(13, now, interval), speaks(14, now, interval, many(2*n, 300)...)})
	r.find(addr(14), false).dead = true
	all, _ := r.orphans(false)
	assert.ElementsMatch(t, many(2*n, 300), all)
}

// It had clients, and hours later it dies: nobody is told, and the log does not say so.
func TestMemberThatSaysNoClientsAnyMoreHasNone(t *testing.T) {
	now := time.Now()
	r := roster{pace: pace{interval}, self: addr(11)}
	r.hear(now, []election.Member{speaks(12, now, interval, client(1), client(2))})
	for range int(clientTime/time.Second) + 10 {
		now = now.Add(time.Second)
		r.hear(now, []election.Member{speaks(12, now, interval)})
	}
	r.find(addr(12), false).dead = true
	all, of := r.orphans(false)
	assert.Empty(t, all)
	assert.Empty(t, of)
}

// Members say HELLO each second, however seldom they advertise. What one of them has said is gone with the next one.
func TestEachMessageOfAMemberIsLookedAt(t *testing.T) {
	now := time.Now()
	r := roster{pace: pace{10 * time.Second}, self: addr(11)}
	began := now
	for now.Sub(began) < time.Minute {
		n := int(now.Sub(began) / time.Second)
		r.hear(now, []election.Member{speaks(12, began.Add(time.Duration(n)*time.Second), time.Second, client(n%10))})
		now = r.next(now)
	}
	r.find(addr(12), false).dead = true
	known, _ := r.orphans(false)
	assert.ElementsMatch(t, many(0, 10), known)
}

// A node wakes a little late each time, so with the pace of the other one its look falls behind, and by and by from before a message to after the next.
func TestEachMessageOfAMemberIsLookedAtThoughANodeWakesLate(t *testing.T) {
	for _, late := range []time.Duration{time.Millisecond, interval / 20, interval / 5, interval / 3} {
		for _, base := range []time.Duration{interval, 10 * interval} {
			began := time.Now()
			now, n := began, 0
			r := roster{pace: pace{base}, self: addr(11)}
			for n < 300 {
				n = int(now.Sub(began) / interval)
				r.hear(now, []election.Member{speaks(12, began.Add(time.Duration(n)*interval), interval, client(n))})
				now = r.next(now).Add(late)
			}
			r.find(addr(12), false).dead = true
			known, _ := r.orphans(false)
			assert.Equal(t, n+1, len(known), "late by %v each time, interval %v", late, base)
		}
	}
}

// A message that is late or lost has a node look again, but no more than twice in the time between two.
func TestMessageThatIsLateIsLookedForTwiceAsOften(t *testing.T) {
	began := time.Now()
	now, silent := began, []election.Member{speaks(12, began, interval)}
	r := roster{pace: pace{interval}, self: addr(11)}
	r.hear(now, silent)
	suspected := began.Add(r.suspicion(r.find(addr(12), false)))
	for now.Before(suspected) {
		next := r.next(now)
		assert.GreaterOrEqual(t, next.Sub(now), min(interval/2, suspected.Sub(now)))
		now = next
		r.hear(now, silent)
	}
}

// A HELLO has room for 28 clients of IPv4, and for 12 of IPv6.
func TestClientsAreKnownUntilTheirTurnComesAgain(t *testing.T) {
	for _, every := range []time.Duration{interval, time.Second, 10 * time.Second} {
		now := time.Now()
		r := roster{pace: pace{every}, self: addr(11)}
		all := many(0, election.MostClients)
		for range 2 {
			for part := range slices.Chunk(all, 12) {
				now = now.Add(every)
				r.hear(now, []election.Member{speaks(12, now, every, part...)})
			}
		}
		r.find(addr(12), false).dead = true
		known, _ := r.orphans(false)
		assert.Equal(t, len(all), len(known), every)
	}
}

func TestClientsAreAskedForTheAddressesOfTheirFamily(t *testing.T) {
	six := netip.MustParseAddr("fd77::100")
	got := clientsAt([]netip.Addr{addr(100), six, addr(101)}, []election.Client{client(1), {At: netip.MustParseAddrPort("[2001:db8::7]:40000"), Port: 9443}})
	assert.Equal(t, []netip.AddrPort{
		netip.AddrPortFrom(addr(100), 9443), netip.AddrPortFrom(addr(101), 9443), netip.AddrPortFrom(six, 9443),
	}, []netip.AddrPort{got[0].To, got[1].To, got[2].To})
}
