package members

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hearingLink is a link on which hosts answer.
type hearingLink struct {
	h     Hearing
	now   time.Time
	hosts []netip.Addr
	pace  Pace
	asked int
	loses func() bool // a question or its answer; nil: none
	macs  map[netip.Addr][6]byte
}

// run steps each 10 ms; the hosts that are there answer within that.
func (l *hearingLink) run(d time.Duration) {
	for end := l.now.Add(d); l.now.Before(end); l.now = l.now.Add(10 * time.Millisecond) {
		q := l.h.Step(l.now, l.pace)
		l.asked += len(q.To)
		for _, a := range l.hosts {
			for _, to := range q.To {
				if a == to && (l.loses == nil || !l.loses()) {
					l.h.Spoken(a, l.macs[a], l.now.Add(time.Millisecond), time.Time{})
				}
			}
		}
	}
}

func newHearingLink(hosts ...string) *hearingLink {
	l := &hearingLink{now: time.Unix(1000, 0), pace: Pace{Quiet: 400 * time.Millisecond, Usual: true, Settle: 500 * time.Millisecond}}
	for _, a := range hosts {
		l.hosts = append(l.hosts, netip.MustParseAddr(a))
		l.h.Know(l.hosts[len(l.hosts)-1])
	}
	return l
}

func TestHearingIsDeafWhenAllWitnessesAreSilent(t *testing.T) {
	for name, hosts := range map[string][]string{"IPv4": {"10.77.0.12", "10.77.0.13"}, "IPv6": {"fe80::12", "fe80::13"}} {
		t.Run(name, func(t *testing.T) {
			l := newHearingLink(hosts...)
			l.run(20 * time.Second)
			require.False(t, l.h.Deaf())

			all := l.hosts
			l.hosts = nil
			l.run(700 * time.Millisecond)
			assert.True(t, l.h.Deaf())

			l.hosts = all
			l.run(300 * time.Millisecond)
			assert.True(t, l.h.Deaf(), "it has not heard of other holders yet")
			l.run(time.Second)
			assert.False(t, l.h.Deaf())
		})
	}
}

// A Backup that takes over has more patience from then on: that nothing has arrived is no sound.
func TestHearingStaysDeafWhenThePaceChanges(t *testing.T) {
	backup := Pace{Quiet: 150 * time.Millisecond, Settle: 500 * time.Millisecond}
	for after := time.Duration(0); after < 400*time.Millisecond; after += 10 * time.Millisecond {
		l := newHearingLink("10.77.0.12", "10.77.0.13")
		l.run(5 * time.Second)
		l.hosts, l.pace = nil, backup
		l.h.Sound(l.now)
		l.run(after)
		l.pace = Pace{Quiet: 400 * time.Millisecond, Usual: true, Settle: 500 * time.Millisecond}
		l.run(time.Second)
		assert.True(t, l.h.Deaf(), "Active after %v", after)
	}
}

// TestHearingWithAShorterGapAsksForAsLong, and so more often: who asks sooner must not be deaf for frames that are lost.
func TestHearingWithAShorterGapAsksForAsLong(t *testing.T) {
	lossy := newHearingLink("10.77.0.12", "10.77.0.13")
	lossy.pace.Quiet, lossy.pace.Gap = 150*time.Millisecond, 20*time.Millisecond
	lossy.run(5 * time.Second)
	rng := rand.New(rand.NewPCG(43, 1))
	lossy.loses = func() bool { return rng.Float64() < 0.36 } // a fifth of all frames, either way
	for range 600 * 60 {
		lossy.run(100 * time.Millisecond)
		require.False(t, lossy.h.Deaf(), "within an hour")
	}

	l := newHearingLink("10.77.0.12", "10.77.0.13")
	l.pace.Quiet, l.pace.Gap = 150*time.Millisecond, 20*time.Millisecond
	l.run(20 * time.Second)
	l.hosts = nil
	l.run(150 * time.Millisecond)
	assert.False(t, l.h.Deaf(), "the questions are under way")
	l.run(250 * time.Millisecond)
	assert.True(t, l.h.Deaf())
}

func TestHearingMeetsHostsAtOnce(t *testing.T) {
	l := newHearingLink("10.77.0.12", "10.77.0.13")
	l.h.Sound(l.now)
	l.run(50 * time.Millisecond)
	l.hosts = nil
	l.run(time.Second)
	assert.True(t, l.h.Deaf(), "two hosts had answered")
}

func TestHearingTakesSilenceOfOneForItsDeath(t *testing.T) {
	l := newHearingLink("10.77.0.12", "10.77.0.13")
	l.run(20 * time.Second)
	l.hosts = l.hosts[:1]
	l.run(20 * time.Second)
	assert.False(t, l.h.Deaf())
	l.hosts = nil
	l.run(20 * time.Second)
	assert.False(t, l.h.Deaf(), "one is left: it may be dead, too")
}

func TestHearingNeverDeafWithoutWitnesses(t *testing.T) {
	l := newHearingLink()
	l.run(time.Minute)
	assert.False(t, l.h.Deaf(), "a first node")
	assert.Zero(t, l.asked)

	l.h.Hear(netip.MustParseAddr("10.77.0.12"), l.now)
	l.h.Hear(netip.MustParseAddr("10.77.0.13"), l.now)
	l.run(time.Minute)
	assert.False(t, l.h.Deaf(), "hosts that never answer a question")
}

// A holder of several entries answers at each of its addresses, with one MAC. When it dies, this node hears no less than before.
func TestHearingTakesOneHostForOneWitness(t *testing.T) {
	a, b, vip := netip.MustParseAddr("10.77.0.12"), netip.MustParseAddr("10.77.0.13"), netip.MustParseAddr("10.77.0.100")
	macA, macB := [6]byte{2, 0, 0, 0, 0, 0xa}, [6]byte{2, 0, 0, 0, 0, 0xb}
	link := func(macs map[netip.Addr][6]byte) *hearingLink {
		l := &hearingLink{now: time.Unix(1000, 0), pace: Pace{Quiet: 400 * time.Millisecond, Usual: true, Settle: 500 * time.Millisecond}, macs: macs}
		for host := range macs {
			l.hosts = append(l.hosts, host)
		}
		return l
	}
	for name, first := range map[string]netip.Addr{"its own address first": a, "a virtual address first": vip} {
		t.Run(name, func(t *testing.T) {
			l := link(map[netip.Addr][6]byte{a: macA, vip: macA})
			if first == a {
				l.h.Hear(a, l.now)
				l.run(10 * time.Millisecond)
			}
			l.h.Spoken(vip, macA, l.now, time.Time{})
			l.h.Hear(a, l.now)
			l.run(20 * time.Second)
			require.Equal(t, []netip.Addr{a}, l.h.hosts.trusted(l.h.heard), "messages come from its own address")

			l.hosts = nil
			l.run(20 * time.Second)
			assert.False(t, l.h.Deaf())
		})
	}
	t.Run("a virtual address moves to another host", func(t *testing.T) {
		l := link(map[netip.Addr][6]byte{b: macB, vip: macA})
		l.h.Spoken(vip, macA, l.now, time.Time{})
		l.h.Hear(b, l.now)
		l.run(20 * time.Second)
		require.Len(t, l.h.hosts.trusted(l.h.heard), 2)

		l.macs[vip] = macB
		l.h.Spoken(vip, macB, l.now, time.Time{})
		l.run(time.Second)
		assert.Equal(t, []netip.Addr{b}, l.h.hosts.trusted(l.h.heard))
		l.hosts = nil
		l.run(20 * time.Second)
		assert.False(t, l.h.Deaf())
	})
}

func TestHearingAsksSeldomWhileItHears(t *testing.T) {
	l := newHearingLink("10.77.0.12", "10.77.0.13")
	for range 600 { // a minute of advertisements
		l.h.Hear(l.hosts[0], l.now)
		l.run(100 * time.Millisecond)
	}
	assert.LessOrEqual(t, l.asked, 14)
}

func TestMessageSaysWhatArrives(t *testing.T) {
	for _, give := range []PeerState{
		{Self: Self{Deaf: true}},
		{Unanswered: 7},
		{Self: Self{Deaf: true}, Unanswered: 1 << 60},
		{Self: Self{HearsNobody: true}},
		{},
		{Unreached: 9},
		{Unreached: 9, NeverReached: true},
		{Self: Self{Deaf: true}, Unanswered: 7, Unreached: 1<<64 - 1, NeverReached: true},
	} {
		give.Group = netip.MustParseAddr("10.77.0.100")
		b, err := Message{Type: Hello, Session: 1, Peer: give}.Append(nil, 1)
		require.NoError(t, err)
		m, _, err := Parse(b)
		require.NoError(t, err)
		assert.Equal(t, give, m.Peer)
	}
	var f PeerState
	assert.False(t, f.parseHearing(nil))
	assert.False(t, f.parseHearing([]byte{flagUnanswered, 1}))
	assert.False(t, f.parseHearing([]byte{flagUnanswered | flagUnreached, 1, 2, 3, 4, 5, 6, 7, 8, 9}), "the second session is cut off")
	assert.True(t, f.parseHearing([]byte{flagNever}))
	assert.False(t, f.NeverReached, "it says nothing without a holder")
	assert.True(t, f.parseHearing([]byte{0x80 | flagDeaf, 1, 2}), "a later version says more")
}

func TestHearingIsUnsureUntilItHearsAndComesLastALittleLonger(t *testing.T) {
	l := newHearingLink()
	l.pace.Meet = 150 * time.Millisecond
	l.run(time.Second)
	assert.True(t, l.h.Unsure())
	assert.True(t, l.h.Last())

	l.h.Sound(l.now)
	l.run(20 * time.Millisecond)
	assert.False(t, l.h.Unsure())
	assert.True(t, l.h.Last(), "it may not have heard of a holder yet")
	l.run(200 * time.Millisecond)
	assert.False(t, l.h.Last())
	l.run(time.Minute)
	assert.False(t, l.h.Unsure(), "somebody is there who answers no questions")
}

// Two nodes that booted together, and one is dead after its first words: the other cannot know whether it is deaf.
func TestHearingIsUnsureWhenTheFirstMomentsWereTheLast(t *testing.T) {
	l := newHearingLink()
	first := netip.MustParseAddr("10.77.0.12")
	l.h.Hear(first, l.now)
	l.run(2 * time.Second)
	assert.True(t, l.h.Unsure())
	assert.False(t, l.h.Deaf())
	asked := l.asked
	l.run(30 * time.Second)
	assert.LessOrEqual(t, l.asked-asked, 11, "it goes on asking, and seldom")

	l.h.Hear(first, l.now)
	l.run(10 * time.Millisecond)
	assert.False(t, l.h.Unsure())
}

// Another Virtual Router of the node heard something last, a moment before this one began to ask, and says so a moment later: that ends no silence. It did, and
// the node took the address, lost its witnesses and never found out.
func TestHearingOfWhatCameBeforeTheQuestionsEndsNoSilence(t *testing.T) {
	l := newHearingLink("10.77.0.12", "10.77.0.13")
	l.pace.Usual, l.pace.Quiet = false, 150*time.Millisecond
	l.run(time.Second)
	l.hosts = nil
	l.h.Sound(l.now)
	heard := l.now
	for l.h.rounds < 2 {
		l.run(10 * time.Millisecond)
	}
	l.h.Share(heard.Add(time.Millisecond))
	assert.True(t, l.h.Undecided(l.now))
	l.pace.Usual, l.pace.Quiet = true, 400*time.Millisecond // as a node that has taken over
	l.run(200 * time.Millisecond)
	assert.True(t, l.h.Deaf())
}

// A question that another Virtual Router of the node has asked a moment before does not leave. Its answer is older, and counts all the same: else two short
// silences would leave this one without witnesses.
func TestHearingCountsTheAnswerToTheQuestionBefore(t *testing.T) {
	l := newHearingLink("10.77.0.12", "10.77.0.13")
	l.pace.Usual = false
	l.run(time.Second)
	hosts := l.hosts
	require.Len(t, l.h.hosts.trusted(l.h.heard), 2)
	for range 3 {
		l.hosts = nil // the questions of this one do not leave
		asked := l.asked
		for l.asked == asked {
			l.run(10 * time.Millisecond)
		}
		for _, a := range hosts {
			l.h.Spoken(a, [6]byte{}, l.now.Add(-15*time.Millisecond), l.now.Add(-15*time.Millisecond))
		}
		l.h.Sound(l.now)
		l.run(10 * time.Millisecond)
	}
	assert.Len(t, l.h.hosts.trusted(l.h.heard), 2)
}

// Hosts that did not answer in time while others were heard are asked once more, and not after seconds in which a deaf node would not find out.
func TestHearingAsksAgainWhomItDropsWhereFewAreLeft(t *testing.T) {
	l := newHearingLink("10.77.0.12", "10.77.0.13")
	l.run(time.Second)
	hosts := l.hosts
	l.hosts = nil
	for l.h.rounds < dropAfter+1 {
		l.run(10 * time.Millisecond)
	}
	l.hosts = hosts
	l.h.Sound(l.now)
	l.run(50 * time.Millisecond)
	assert.Len(t, l.h.hosts.trusted(l.h.heard), 2)
}

// Many Virtual Routers of a node have a Hearing each. What one of them hears, or is answered, the others need not ask for.
func TestHearingsOfOneLinkAskLittleMoreThanOne(t *testing.T) {
	hosts := []netip.Addr{netip.MustParseAddr("10.77.0.12"), netip.MustParseAddr("10.77.0.13")}
	asked := func(n int) (questions int) {
		all, sound, answered := make([]Hearing, n), time.Time{}, map[netip.Addr]time.Time{}
		pace := Pace{Quiet: time.Second, Usual: true, Settle: 5 * time.Second}
		start := time.Unix(1000, 0)
		for i := range all {
			for _, a := range hosts {
				all[i].Know(a)
				all[i].Hear(a, start)
			}
		}
		for now := start; now.Before(start.Add(time.Minute)); now = now.Add(10 * time.Millisecond) {
			for i := range all {
				h := &all[i]
				if now.Sub(start)/(10*time.Millisecond)%100 != time.Duration(i*100/n) {
					continue // each is stepped once a second, in its own moment
				}
				h.Share(sound)
				if h.Due(now) || now.Sub(h.Asked()) < 2*time.Second {
					for a, at := range answered {
						h.Spoken(a, [6]byte{}, at, time.Time{})
					}
				}
				q := h.Step(now, pace)
				if now.Sub(start) > 5*time.Second {
					questions += len(q.To)
				}
				for _, a := range q.To {
					answered[a], sound = now.Add(time.Millisecond), now.Add(time.Millisecond)
				}
				if heard := h.Heard(); heard.After(sound) {
					sound = heard
				}
				assert.False(t, h.Deaf())
			}
		}
		return questions
	}
	one := asked(1)
	assert.Greater(t, one, 5)
	assert.LessOrEqual(t, asked(100), 4*one, "and not a hundred times as much")
}

func TestHearingIsDeafOnlyWhenTheOthersOfItsLinkHearNothingEither(t *testing.T) {
	l := newHearingLink("10.77.0.12", "10.77.0.13")
	l.run(20 * time.Second)
	l.hosts = nil
	for range 20 {
		l.run(100 * time.Millisecond)
		l.h.Share(l.now)
	}
	assert.False(t, l.h.Deaf(), "another one hears")
	heard := l.h.Heard()
	l.h.Share(heard.Add(-time.Second))
	assert.Equal(t, heard, l.h.Heard(), "an older sound tells nothing")
	l.run(700 * time.Millisecond)
	assert.True(t, l.h.Deaf())
	l.h.Share(heard)
	assert.True(t, l.h.Deaf(), "nor to a deaf one")
	l.run(time.Second)
	assert.True(t, l.h.Deaf())
}

// A node that hears advertisements all the time has no silence in which it would find out who is gone. Those give their places to others all the same.
func TestHearingGivesPlacesOfThoseThatAreGoneToOthers(t *testing.T) {
	l := newHearingLink("10.77.0.11", "10.77.0.12", "10.77.0.13", "10.77.0.14", "10.77.0.15", "10.77.0.16")
	l.pace.Quiet, l.pace.Usual = 150*time.Millisecond, false // a Backup's
	adverts := func(d time.Duration) {
		for range d / (100 * time.Millisecond) {
			l.h.Sound(l.now)
			l.run(100 * time.Millisecond)
		}
	}
	adverts(30 * time.Second)
	require.Len(t, l.h.hosts.trusted(l.h.heard), mostWitnesses)

	l.hosts = l.hosts[:1]
	adverts(time.Minute)
	for _, a := range []string{"10.77.0.21", "10.77.0.22"} {
		fresh := netip.MustParseAddr(a)
		l.hosts = append(l.hosts, fresh)
		l.h.Spoken(fresh, [6]byte{}, l.now, time.Time{})
	}
	adverts(time.Second)
	assert.ElementsMatch(t, l.hosts, l.h.hosts.trusted(l.h.heard))

	l.hosts = nil
	l.run(time.Second)
	assert.True(t, l.h.Deaf())
}

// A host that is asked in vain while it is still a witness keeps its place: it may only be slow, and strangers may be invented.
func TestHearingKeepsThePlacesOfItsWitnesses(t *testing.T) {
	l := newHearingLink("10.77.0.11", "10.77.0.12", "10.77.0.13", "10.77.0.14", "10.77.0.15", "10.77.0.16")
	l.run(30 * time.Second)
	witnesses := l.h.hosts.trusted(l.h.heard)
	require.Len(t, witnesses, mostWitnesses)
	l.hosts = nil
	for l.h.rounds < dropAfter+1 {
		l.run(10 * time.Millisecond)
	}
	for i := range byte(20) {
		l.h.Spoken(netip.AddrFrom4([4]byte{10, 77, 0, 100 + i}), [6]byte{}, l.now, time.Time{})
	}
	assert.Equal(t, witnesses, l.h.hosts.trusted(l.h.heard))
}
