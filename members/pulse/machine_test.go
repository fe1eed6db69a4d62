package pulse

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// world is nodes on a link in virtual time: packets take up to half a millisecond, and some are lost; processes are late, or stand still; kernels
// answer echoes at once, as long as they live.
type world struct {
	now   time.Time
	rng   *rand.Rand
	nodes []*node
	later []happening
	loss  float64
	late  func() time.Duration // of a wakeup
	cut   map[[2]int]bool      // nothing arrives from the first at the second
	trace []string
	said  int // questions and words
}

type happening struct {
	at time.Time
	do func()
}

type node struct {
	w       *world
	id      int
	m       *machine
	dead    bool
	stopped time.Time // the process stands still until then
	waiting []event   // that have arrived meanwhile
	timer   int
	gone    []Gone
	at      []time.Time
	echoes  int
}

func address(id int) netip.Addr { return netip.AddrFrom4([4]byte{10, 77, 0, byte(11 + id)}) }

// newWorld has nodes of which the first holds the address, and all others follow it. A witness is the last, and takes part in nothing.
func newWorld(seed uint64, n int, witness bool) *world {
	w := &world{now: time.Unix(1_700_000_000, 0), rng: rand.New(rand.NewPCG(seed, 3)), cut: map[[2]int]bool{}}
	w.late = func() time.Duration { return w.upTo(300 * time.Microsecond) }
	for i := range n {
		w.nodes = append(w.nodes, &node{w: w, id: i, m: newMachine(address(i))})
	}
	if witness {
		w.nodes = append(w.nodes, &node{w: w, id: n})
	}
	for _, o := range w.nodes {
		if o.m == nil {
			continue
		}
		w.hello(o)
		if o.id > 0 {
			o.step(follows{[]netip.Addr{address(0)}})
			if witness {
				o.step(witnessed{Witness: address(n)})
			}
		}
	}
	w.nodes[0].step(holds{true})
	return w
}

// hello has a node heard by the others each second, as long as it lives.
func (w *world) hello(o *node) {
	if o.dead {
		return
	}
	for _, p := range w.nodes {
		w.carry(o, p, func() { p.arrive(met{address(o.id), address(100), 3500 * time.Millisecond}) })
	}
	w.after(time.Second, func() { w.hello(o) })
}

func (w *world) upTo(d time.Duration) time.Duration { return time.Duration(w.rng.Int64N(int64(d) + 1)) }

func (w *world) after(d time.Duration, do func()) {
	h := happening{w.now.Add(d), do}
	i, _ := slices.BinarySearchFunc(w.later, h, func(a, b happening) int { return cmp.Or(a.at.Compare(b.at), -1) })
	w.later = slices.Insert(w.later, i, h)
}

func (w *world) run(d time.Duration) {
	for end := w.now.Add(d); ; {
		if len(w.later) == 0 || w.later[0].at.After(end) {
			w.now = end
			return
		}
		next := w.later[0]
		w.later = w.later[1:]
		w.now = next.at
		next.do()
	}
}

func (w *world) note(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf("%9.3f ms  ", w.now.Sub(time.Unix(1_700_000_000, 0)).Seconds()*1000)+fmt.Sprintf(format, args...))
}

// carry takes a packet from one host to another, where nothing keeps it.
func (w *world) carry(from, to *node, arrives func()) {
	if from == to || from.dead || w.cut[[2]int{from.id, to.id}] || w.rng.Float64() < w.loss {
		return
	}
	w.after(50*time.Microsecond+w.upTo(450*time.Microsecond), func() {
		if !to.dead {
			arrives()
		}
	})
}

func (o *node) frozen() bool { return o.w.now.Before(o.stopped) }

// arrive gives an event to a process, or keeps it until that goes on.
func (o *node) arrive(ev event) {
	if o.m == nil {
		return
	}
	if o.frozen() {
		o.waiting = append(o.waiting, ev)
		return
	}
	o.step(ev)
}

func (o *node) step(ev event) {
	w := o.w
	for _, a := range slices.Clone(o.m.step(w.now, ev)) {
		switch a := a.(type) {
		case send:
			msg := a.Message
			msg.Session = uint64(o.id + 1)
			if msg.Type != Beat {
				w.said++
			}
			for _, p := range w.nodes {
				w.carry(o, p, func() { p.arrive(received{address(o.id), msg, w.now}) })
			}
		case echo:
			sent := w.now
			o.echoes++
			if i := slices.IndexFunc(w.nodes, func(p *node) bool { return address(p.id) == a.To }); i >= 0 {
				p := w.nodes[i]
				w.carry(o, p, func() {
					w.carry(p, o, func() { o.arrive(Echoed{From: a.To, At: w.now, Took: w.now.Sub(sent)}) })
				})
			}
		case Gone:
			w.note("%d finds that %v is gone: %+v", o.id, a.Source, a)
			o.gone, o.at = append(o.gone, a), append(o.at, w.now)
		}
	}
	o.arm()
}

func (o *node) arm() {
	o.timer++
	n, due := o.timer, o.m.due
	if due.IsZero() {
		return
	}
	o.w.after(max(0, due.Sub(o.w.now))+o.w.late(), func() { o.expire(n) })
}

func (o *node) expire(n int) {
	switch {
	case o.dead || o.timer != n:
	case o.frozen():
		o.w.after(o.stopped.Sub(o.w.now), func() { o.expire(n) })
	default:
		list := o.waiting
		o.waiting = nil
		for _, ev := range list {
			o.step(ev)
		}
		o.step(expired{})
	}
}

func (o *node) freeze(d time.Duration) {
	o.w.note("%d stands still for %v", o.id, d)
	o.stopped = o.w.now.Add(d)
	n := o.timer
	o.w.after(d, func() { o.expire(n) })
}

func (o *node) die() {
	o.w.note("%d dies", o.id)
	o.dead = true
}

// seeds runs a case in many worlds, which $PULSE_SEEDS sets.
func seeds(t *testing.T, most int, one func(t *testing.T, seed uint64) *world) {
	t.Helper()
	if s := os.Getenv("PULSE_SEEDS"); s != "" {
		n, err := strconv.Atoi(s)
		require.NoError(t, err)
		most = n
	}
	for seed := range uint64(most) {
		w := one(t, seed)
		if t.Failed() {
			t.Fatalf("seed %d\n%s", seed, strings.Join(w.trace[max(0, len(w.trace)-60):], "\n"))
		}
	}
}

// nobodyGone is that no node was found to be gone.
func nobodyGone(t *testing.T, w *world) {
	t.Helper()
	for _, o := range w.nodes {
		assert.Empty(t, o.gone, "node %d", o.id)
	}
}

func TestDeadHolderIsFoundByAllOthers(t *testing.T) {
	for _, n := range []int{3, 5} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			seeds(t, 400, func(t *testing.T, seed uint64) *world {
				w := newWorld(seed, n, false)
				w.run(2*time.Second + w.upTo(time.Second))
				died := w.now
				w.nodes[0].die()
				w.run(time.Second)
				for _, o := range w.nodes[1:] {
					if !assert.Len(t, o.gone, 1, "node %d", o.id) {
						return w
					}
					took := o.at[0].Sub(died)
					assert.LessOrEqual(t, took, 50*time.Millisecond, "node %d", o.id)
					g := o.gone[0]
					assert.Equal(t, address(0), g.Source)
					assert.Equal(t, mostEchoes, g.Echoes)
					assert.NotEmpty(t, g.Agreed)
					assert.GreaterOrEqual(t, g.Silent, Every+LeastWait)
				}
				return w
			})
		})
	}
}

// TestDeathIsFoundOneBeatAndHalfOfTheWaitAndTheEchoesLater, on the average of all phases of the beat: neither the rest of the wait nor timers that are
// late are added to that.
func TestDeathIsFoundOneBeatAndHalfOfTheWaitAndTheEchoesLater(t *testing.T) {
	var sum time.Duration
	const worlds = 200
	for seed := range uint64(worlds) {
		w := newWorld(seed, 3, false)
		w.run(2*time.Second + w.upTo(time.Second))
		died := w.now
		w.nodes[0].die()
		w.run(time.Second)
		first := later(w.nodes[1].at[0], w.nodes[2].at[0]) // both take part, so the first of the two has waited for the other's word
		sum += first.Sub(died)
	}
	want := Every/2 + LeastWait/2 + mostEchoes*echoGap
	assert.InDelta(t, want.Seconds(), (sum / worlds).Seconds(), 0.004)
}

// TestShortBlackoutMovesNothing: nothing of the holder arrives, nor anything at it, for less than half of the wait and the echoes. Beats are lost, and some
// echoes.
func TestShortBlackoutMovesNothing(t *testing.T) {
	seeds(t, 300, func(t *testing.T, seed uint64) *world {
		w := newWorld(seed, 3+int(seed%3), false)
		w.run(2*time.Second + w.upTo(time.Second))
		for range 5 {
			for id := range w.nodes[1:] {
				w.cut[[2]int{0, id + 1}], w.cut[[2]int{id + 1, 0}] = true, true
			}
			w.run(LeastWait/2 + (mostEchoes-1)*echoGap)
			clear(w.cut)
			w.run(time.Second + w.upTo(100*time.Millisecond))
		}
		nobodyGone(t, w)
		return w
	})
}

// TestBeatThatIsLateIsNobodysNews: its kernel answers before the wait is over, so nobody is asked, and nobody is told.
func TestBeatThatIsLateIsNobodysNews(t *testing.T) {
	looks := 0
	seeds(t, 50, func(t *testing.T, seed uint64) *world {
		w := newWorld(seed, 3, false)
		w.run(2*time.Second + w.upTo(time.Second))
		before := w.nodes[1].echoes
		w.nodes[0].freeze(25 * time.Millisecond)
		w.run(60 * time.Millisecond)
		looks += min(w.nodes[1].echoes-before, 1)
		assert.Zero(t, w.said, "questions and words")
		return w
	})
	assert.Greater(t, looks, 25)
}

// TestLossMovesNothing: one frame in five is lost.
func TestLossMovesNothing(t *testing.T) {
	seeds(t, 60, func(t *testing.T, seed uint64) *world {
		w := newWorld(seed, 3+int(seed%3), false)
		w.loss = 0.2
		w.run(20 * time.Second)
		nobodyGone(t, w)
		return w
	})
}

// TestLateProcessesMoveNothing: the holder's, and those of the others, which stand still for a while or are late with everything.
func TestLateProcessesMoveNothing(t *testing.T) {
	seeds(t, 150, func(t *testing.T, seed uint64) *world {
		w := newWorld(seed, 3, false)
		w.late = func() time.Duration {
			if w.rng.IntN(20) == 0 {
				return w.upTo(120 * time.Millisecond)
			}
			return w.upTo(time.Millisecond)
		}
		for range 20 {
			w.run(w.upTo(400 * time.Millisecond))
			w.nodes[w.rng.IntN(3)].freeze(w.upTo(2 * time.Second))
		}
		w.run(time.Second)
		nobodyGone(t, w)
		return w
	})
}

// TestOneWayCutsMoveNothingWhileAnotherHearsTheHolder, whoever it is that is cut off.
func TestOneWayCutsMoveNothingWhileAnotherHearsTheHolder(t *testing.T) {
	for name, cut := range map[string][][2]int{
		"one does not hear the holder":            {{0, 1}},
		"the holder does not hear one":            {{1, 0}},
		"one hears nobody":                        {{0, 1}, {2, 1}},
		"one is not heard":                        {{1, 0}, {1, 2}},
		"one does not hear the holder, nor it it": {{0, 1}, {1, 0}},
		"one is cut off":                          {{0, 1}, {1, 0}, {2, 1}, {1, 2}},
		"the others do not hear each other":       {{1, 2}, {2, 1}},
		"the holder is deaf":                      {{1, 0}, {2, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			seeds(t, 60, func(t *testing.T, seed uint64) *world {
				w := newWorld(seed, 3, false)
				w.run(2*time.Second + w.upTo(time.Second))
				w.note("cut")
				for _, c := range cut {
					w.cut[c] = true
				}
				w.run(5 * time.Second)
				nobodyGone(t, w)
				return w
			})
		})
	}
}

// TestHolderThatNobodyHearsIsGone: mute, or cut off from the others. Whether it is dead nobody can tell.
func TestHolderThatNobodyHearsIsGone(t *testing.T) {
	for name, cut := range map[string][][2]int{
		"mute":    {{0, 1}, {0, 2}},
		"cut off": {{0, 1}, {0, 2}, {1, 0}, {2, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			seeds(t, 60, func(t *testing.T, seed uint64) *world {
				w := newWorld(seed, 3, false)
				w.run(2*time.Second + w.upTo(time.Second))
				for _, c := range cut {
					w.cut[c] = true
				}
				w.run(time.Second)
				for _, o := range w.nodes[1:] {
					assert.Len(t, o.gone, 1, "node %d", o.id)
				}
				assert.Empty(t, w.nodes[0].gone)
				return w
			})
		})
	}
}

// TestTwoOfFiveThatAreCutOffFindTheHolderGone: they cannot know which half is dead. The others keep it.
func TestTwoOfFiveThatAreCutOffFindTheHolderGone(t *testing.T) {
	seeds(t, 60, func(t *testing.T, seed uint64) *world {
		w := newWorld(seed, 5, false)
		w.run(2*time.Second + w.upTo(time.Second))
		for _, a := range []int{1, 2} {
			for _, b := range []int{0, 3, 4} {
				w.cut[[2]int{a, b}], w.cut[[2]int{b, a}] = true, true
			}
		}
		w.run(time.Second)
		for id, want := range []int{0, 1, 1, 0, 0} {
			assert.Len(t, w.nodes[id].gone, want, "node %d", id)
		}
		return w
	})
}

// TestGroupOfTwo has no second opinion but that of a witness, which shows that the own link works.
func TestGroupOfTwo(t *testing.T) {
	for name, tt := range map[string]struct {
		witness bool
		cut     [][2]int
		want    int
	}{
		"dead, with a witness":    {true, nil, 1},
		"dead, without":           {false, nil, 0},
		"dead, and so is my link": {true, [][2]int{{2, 1}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			seeds(t, 60, func(t *testing.T, seed uint64) *world {
				w := newWorld(seed, 2, tt.witness)
				w.run(2*time.Second + w.upTo(time.Second))
				for _, c := range tt.cut {
					w.cut[c] = true
				}
				w.nodes[0].die()
				w.run(time.Second)
				if assert.Len(t, w.nodes[1].gone, tt.want) && tt.want > 0 {
					assert.Equal(t, address(2), w.nodes[1].gone[0].Witness)
				}
				return w
			})
		})
	}
}

// TestStoppedProcessIsNotGone: its kernel answers.
func TestStoppedProcessIsNotGone(t *testing.T) {
	seeds(t, 100, func(t *testing.T, seed uint64) *world {
		w := newWorld(seed, 3, false)
		w.run(2*time.Second + w.upTo(time.Second))
		w.nodes[0].freeze(10 * time.Second)
		w.run(11 * time.Second)
		nobodyGone(t, w)
		return w
	})
}

// TestWaitFollowsWhatWasLate: a minute after the last late beat it is as short as ever.
func TestWaitFollowsWhatWasLate(t *testing.T) {
	w := newWorld(1, 3, false)
	w.run(3 * time.Second)
	m := w.nodes[1].m
	assert.Equal(t, LeastWait, m.delays.wait(w.now))
	w.nodes[0].freeze(25 * time.Millisecond)
	w.run(200 * time.Millisecond)
	assert.Greater(t, m.delays.wait(w.now), LeastWait, "of the holder's lateness")
	assert.LessOrEqual(t, m.delays.wait(w.now), 52*time.Millisecond)
	w.nodes[2].freeze(100 * time.Millisecond)
	w.run(200 * time.Millisecond)
	assert.Greater(t, w.nodes[2].m.delays.wait(w.now), 60*time.Millisecond, "of its own")
	w.run(2 * time.Minute)
	assert.Equal(t, LeastWait, m.delays.wait(w.now))
	assert.Equal(t, LeastWait, w.nodes[2].m.delays.wait(w.now))
}

// TestEchoesOfAWaitThatHasGrownProveNothing: they were sent while the beat could still come. The echoes at the end of
// the wait count.
func TestEchoesOfAWaitThatHasGrownProveNothing(t *testing.T) {
	w := newWorld(1, 3, false)
	w.run(3 * time.Second)
	m := w.nodes[1].m
	holder := m.find(address(0))
	w.nodes[0].die()
	w.cut[[2]int{2, 1}] = true // nobody asks it
	for !holder.look.late {
		w.run(100 * time.Microsecond)
	}
	m.delays.late.Note(w.now, 150*time.Millisecond)
	end := holder.suspectAt(m.delays.wait(w.now))
	require.Greater(t, end.Sub(w.now), 2*mostEchoes*echoGap)
	for w.now.Before(end) {
		require.False(t, holder.look.found, "%v too early", end.Sub(w.now))
		w.run(100 * time.Microsecond)
	}
	w.run(2 * mostEchoes * echoGap)
	assert.True(t, holder.look.found)
}

// TestHostThatAnswersNoEchoIsNotJudged: ICMP is filtered there, so that silence means nothing.
func TestHostThatAnswersNoEchoIsNotJudged(t *testing.T) {
	w := newWorld(1, 3, false)
	for _, o := range w.nodes[1:] {
		o.m.step(w.now, witnessed{}) // nothing of it
	}
	w.run(50 * time.Millisecond)
	w.cut[[2]int{1, 0}], w.cut[[2]int{2, 0}] = true, true // nothing of them arrives there; what it sends does
	w.run(2 * time.Second)
	assert.Contains(t, w.nodes[1].m.why(w.now, address(0)), "answers no echo")
	w.nodes[0].die()
	w.run(time.Second)
	nobodyGone(t, w)
}

func TestHolderThatGivesTheAddressAwayIsNotMissed(t *testing.T) {
	seeds(t, 50, func(t *testing.T, seed uint64) *world {
		w := newWorld(seed, 3, false)
		w.run(2*time.Second + w.upTo(time.Second))
		before := w.nodes[1].echoes
		w.nodes[0].step(holds{false})
		w.run(200 * time.Millisecond)
		assert.Equal(t, before, w.nodes[1].echoes, "nobody looks")
		w.run(5 * time.Second)
		nobodyGone(t, w)
		return w
	})
}

// TestStrangersWordsMoveNothing: with what one node finds itself a word is a reason to take over; without that it is nothing, and neither is any
// number of them.
func TestStrangersWordsMoveNothing(t *testing.T) {
	seeds(t, 50, func(t *testing.T, seed uint64) *world {
		w := newWorld(seed, 3, false)
		w.run(2 * time.Second)
		for range 2000 {
			from, about := address(w.rng.IntN(5)), address(w.rng.IntN(5))
			for _, o := range w.nodes[1:] {
				msg := Message{Type: Type(w.rng.IntN(3)) + Beat, Session: uint64(w.rng.IntN(4)), Number: w.rng.Uint32(), Every: Every, About: about, There: w.rng.IntN(2) == 0}
				if w.rng.IntN(2) == 0 {
					msg = Message{Type: Word, About: address(0)}
				}
				o.arrive(received{from, msg, w.now})
			}
			w.run(w.upTo(2 * time.Millisecond))
		}
		nobodyGone(t, w)
		return w
	})
}

// TestPeaceIsCheap: the packets of a group in which nothing happens.
func TestPeaceIsCheap(t *testing.T) {
	w := newWorld(1, 3, false)
	w.run(2 * time.Second)
	before := w.nodes[1].echoes
	w.run(10 * time.Second)
	assert.LessOrEqual(t, w.nodes[1].echoes-before, 41, "echoes in ten seconds")
	assert.Zero(t, w.nodes[0].echoes, "the holder asks nobody")
}

func TestNothingOfAnUnknownMemberCounts(t *testing.T) {
	m := newMachine(address(1))
	now := time.Unix(1e9, 0)
	m.step(now, follows{[]netip.Addr{address(0)}})
	for i := range 10 {
		now = now.Add(Every)
		assert.Empty(t, m.step(now, received{address(0), Message{Type: Beat, Session: 1, Number: uint32(i + 1), Every: Every}, now}))
		assert.Empty(t, m.step(now, received{address(0), Message{Type: Ask, About: address(1)}, now}))
	}
	assert.Zero(t, m.due)
	assert.Contains(t, m.why(now, address(0)), "not heard as a member")
}

func TestInventedMembersAreBounded(t *testing.T) {
	m := newMachine(address(1))
	now := time.Unix(1e9, 0)
	for i := range 1000 {
		m.step(now, met{netip.AddrFrom4([4]byte{10, 78, byte(i >> 8), byte(i)}), address(100), time.Second})
	}
	assert.Len(t, m.peers, maxPeers)
	m.step(now.Add(2*time.Second), met{address(0), address(100), time.Second})
	assert.Len(t, m.peers, 1)
}

// A node is a member for as long as it is one of any group, however the groups' lifetimes are.
func TestNodeIsAMemberWhileItIsOneOfAnyGroup(t *testing.T) {
	m := newMachine(address(1))
	now := time.Unix(1e9, 0)
	m.step(now, met{address(0), address(100), 3 * time.Second})
	m.step(now, met{address(0), address(101), 300 * time.Millisecond})
	p := m.find(address(0))
	assert.True(t, p.member(now.Add(2*time.Second)), "the longest counts")
	m.step(now, met{address(0), address(101), 0})
	assert.True(t, p.member(now))
	m.step(now, met{address(0), address(102), 0})
	assert.True(t, p.member(now), "nor does a group count of which it was none")
	m.step(now, met{address(0), address(100), 0})
	assert.False(t, p.member(now))
	assert.Empty(t, p.groups)
}
