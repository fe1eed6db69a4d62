package virtualrouter

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

var gatewayAddr = netip.MustParseAddr("10.77.0.1")

// lanEars are Ears on a lan, whose hosts answer within a millisecond. As in a kernel, what has arrived waits until somebody looks, and is as old as it is.
type lanEars struct {
	lan  *lan
	self netip.Addr
	list []Voice // guarded by lan.mu
	// asked says that another Virtual Router of the node has just asked all hosts, so that questions do not leave. Guarded by lan.mu.
	asked bool
}

func (e *lanEars) Ask(q members.Question) {
	e.lan.mu.Lock()
	defer e.lan.mu.Unlock()
	if e.asked {
		return
	}
	at := time.Now().Add(time.Millisecond)
	for _, o := range e.lan.ears {
		if q.Named && o != e && e.lan.arrives(e.self, o.self) {
			o.list = append(o.list, Voice{From: e.self, At: at})
		}
		if slices.Contains(q.To, o.self) && e.lan.arrives(e.self, o.self) && e.lan.arrives(o.self, e.self) {
			e.list = append(e.list, Voice{From: o.self, At: at, Answered: at})
		}
	}
	for _, a := range e.lan.hosts {
		if to := slices.Contains(q.To, a); (to || q.Named || q.Wide) && e.lan.arrives(a, e.self) && e.lan.arrives(e.self, a) {
			v := Voice{From: a, At: at}
			if to {
				v.Answered = at
			}
			e.list = append(e.list, v)
		}
	}
}

// arrives tells whether what one host sends gets to another.
func (l *lan) arrives(from, to netip.Addr) bool {
	return !l.cut[from] && !l.cut[to] && !l.nothing[to] && !l.mute[[2]netip.Addr{from, to}]
}

func (e *lanEars) Heard(dst []Voice, since time.Time) []Voice {
	e.lan.mu.Lock()
	defer e.lan.mu.Unlock()
	for _, v := range e.list {
		if v.At.After(since) && !v.At.After(time.Now()) {
			dst = append(dst, v)
		}
	}
	return dst
}

func (e *lanEars) Sound(own time.Time) time.Time { return own }

// asks has a host ask for something by ARP, which all nodes hear that it reaches.
func (l *lan) asks(host netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.ears {
		if l.arrives(host, e.self) {
			e.list = append(e.list, Voice{From: host, At: time.Now()})
		}
	}
}

// noArrivals lets nothing arrive at a node any more, or everything again.
func (l *lan) noArrivals(node netip.Addr, deaf bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nothing[node] = deaf
}

// watched is what a client sees.
type watched struct {
	longest time.Duration // without an answer
	two     time.Duration // with more than one node that answers
}

// watch looks for so long who answers: whoever holds the address and hears the question. A client asks the link each 100 ms.
func (l *lan) watch(d time.Duration, nodes ...*member) (w watched) {
	const step = time.Millisecond
	var none time.Duration
	for at := range d / step {
		if at%100 == 0 {
			l.asks(clientAddr)
		}
		n := 0
		for _, o := range nodes {
			l.mu.Lock()
			deaf := l.nothing[o.self] || l.cut[o.self]
			l.mu.Unlock()
			if o.holds() && !deaf {
				n++
			}
		}
		switch n {
		case 0:
			none += step
			w.longest = max(w.longest, none)
		case 1:
			none = 0
		default:
			w.two += step
		}
		time.Sleep(step)
	}
	return w
}

// startThree starts nodes whose holder is the given one.
func (l *lan) startThree(t *testing.T, first netip.Addr, change func(*vrrp.Config)) map[netip.Addr]*member {
	t.Helper()
	all := map[netip.Addr]*member{first: l.start(t, first, change)}
	time.Sleep(2 * time.Second)
	for _, a := range []netip.Addr{nodeA, nodeB, nodeC} {
		if a != first {
			all[a] = l.start(t, a, change)
		}
	}
	time.Sleep(30 * time.Second)
	require.True(t, all[first].holds())
	return all
}

func TestDeafNodeNeitherTakesNorKeepsTheAddress(t *testing.T) {
	wait := func(c *vrrp.Config) { c.Preempt = false }
	for _, c := range []struct {
		name        string
		first, deaf netip.Addr
		plain       bool
		change      func(*vrrp.Config)
		beats       bool // with the fast detector
	}{
		{"a backup with the highest address", nodeA, nodeC, false, nil, false},
		{"the holder", nodeA, nodeA, false, nil, false},
		{"the holder with the highest address", nodeC, nodeC, false, nil, false},
		{"a backup without preemption", nodeA, nodeC, false, wait, false},
		{"the holder without preemption", nodeC, nodeC, false, wait, false},
		{"the holder, whose beats come", nodeA, nodeA, false, nil, true},
		{"the holder with the highest address, whose beats come", nodeC, nodeC, false, nil, true},
		{"a backup in plain VRRP", nodeA, nodeC, true, nil, false},
		{"the holder in plain VRRP", nodeC, nodeC, true, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				l := newLAN()
				l.ask, l.talk = true, !c.plain
				if c.beats {
					l.felt = map[netip.Addr]*lanPulse{}
				}
				all := l.startThree(t, c.first, c.change)
				for _, p := range l.felt {
					p.alwaysBeats()
				}
				nodes := []*member{all[nodeA], all[nodeB], all[nodeC]}

				l.noArrivals(c.deaf, true)
				w := l.watch(10*time.Second, nodes...)

				assert.Less(t, w.longest, time.Second)
				assert.Zero(t, w.two)
				assert.Equal(t, code.Deaf, all[c.deaf].Status().Fitness.Code)
				for _, o := range nodes {
					if o.self == c.deaf || c.plain {
						continue
					}
					i := slices.IndexFunc(o.Status().Members, func(m election.Member) bool { return m.Address == c.deaf })
					require.GreaterOrEqual(t, i, 0)
					assert.Equal(t, code.Deaf, o.Status().Members[i].Code, "named on %s", o.self)
				}

				l.noArrivals(c.deaf, false)
				w = l.watch(10*time.Second, nodes...)
				assert.Less(t, w.longest, 100*time.Millisecond)
				assert.Len(t, holders(nodes...), 1)
				assert.Empty(t, all[c.deaf].Status().Fitness.Reason)
				stopAll(t, nodes...)
			})
		})
	}
}

// TestDeafNodeFindsOutBeforeItHasAskedItself: Virtual Routers of a node begin at the same time and know the same hosts. A host that one of them has asked is
// not asked again within moments, and its answer counts for all. Else the others have no witness in their first seconds, and do not find out.
func TestDeafNodeFindsOutBeforeItHasAskedItself(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		l.ask, l.talk = true, true
		nodes := []*member{l.start(t, nodeA, nil)}
		time.Sleep(2 * time.Second)
		nodes = append(nodes, l.start(t, nodeB, nil))
		time.Sleep(10 * time.Second)
		late := l.start(t, nodeC, nil)
		l.mu.Lock()
		ears := l.ears[len(l.ears)-1]
		ears.asked = true
		for _, a := range []netip.Addr{nodeA, nodeB} {
			ears.list = append(ears.list, Voice{From: a, At: time.Now().Add(time.Millisecond), Answered: time.Now().Add(time.Millisecond)})
		}
		l.mu.Unlock()
		time.Sleep(2500 * time.Millisecond)

		l.noArrivals(nodeC, true)
		w := l.watch(3*time.Second, append(nodes, late)...)
		assert.Equal(t, code.Deaf, late.Status().Fitness.Code)
		assert.Less(t, w.longest, 100*time.Millisecond)
		assert.Zero(t, w.two)
		stopAll(t, append(nodes, late)...)
	})
}

// TestDeafHolderThatBeatsIsTakenOverSoon: its beats keep the fast detector of the others quiet, so it has to find out itself, and does so sooner: 200 ms
// without a sound, 100 ms until its next step, and 160 ms of questions.
func TestDeafHolderThatBeatsIsTakenOverSoon(t *testing.T) {
	for after := time.Duration(0); after < time.Second; after += 70 * time.Millisecond {
		bubble.Test(t, func(t *testing.T) {
			l := newLAN()
			l.ask, l.talk, l.felt = true, true, map[netip.Addr]*lanPulse{}
			all := l.startThree(t, nodeC, nil)
			for _, p := range l.felt {
				p.alwaysBeats()
			}
			time.Sleep(after)
			l.noArrivals(nodeC, true)
			w := l.watch(5*time.Second, all[nodeA], all[nodeB], all[nodeC])
			assert.Less(t, w.longest, 500*time.Millisecond, "deaf %v later", after)
			assert.Zero(t, w.two)
			stopAll(t, all[nodeA], all[nodeB], all[nodeC])
		})
	}
}

func TestNodeThatIsAloneIsNotDeaf(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		l.ask, l.talk = true, true
		first := l.start(t, nodeA, nil)
		time.Sleep(time.Minute)
		assert.True(t, first.holds())
		assert.Zero(t, first.Status().Fitness, "a first node hears nobody")

		second := l.start(t, nodeB, nil)
		time.Sleep(time.Minute)
		l.isolate(nodeB, true)
		time.Sleep(time.Minute)
		assert.True(t, first.holds())
		assert.Zero(t, first.Status().Fitness, "of two, either may be the one that is broken")
		stopAll(t, first, second)
	})
}

func TestNodeWhoseOthersAreDeadGoesOn(t *testing.T) {
	for _, first := range []netip.Addr{nodeA, nodeB} {
		t.Run("node A, where the holder was "+first.String(), func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				l := newLAN()
				l.ask, l.talk = true, true
				all := l.startThree(t, first, nil)
				l.isolate(nodeB, true)
				l.isolate(nodeC, true)
				w := l.watch(10*time.Second, all[nodeA])
				assert.True(t, all[nodeA].holds())
				assert.Less(t, w.longest, 500*time.Millisecond)
				stopAll(t, all[nodeA], all[nodeB], all[nodeC])
			})
		})
	}
}

func TestHolderThatOnlyTheRouterReachesStays(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		l.ask, l.talk, l.hosts = true, true, []netip.Addr{gatewayAddr}
		all := l.startThree(t, nodeC, nil)
		l.isolate(nodeA, true)
		l.isolate(nodeB, true)
		time.Sleep(20 * time.Second)
		assert.True(t, all[nodeC].holds())
		assert.Zero(t, all[nodeC].Status().Fitness)
		stopAll(t, all[nodeA], all[nodeB], all[nodeC])
	})
}

func TestOneWayBetweenTwoIsNoDeafness(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		l.ask, l.talk = true, true
		all := l.startThree(t, nodeA, nil)
		l.mu.Lock()
		l.mute[[2]netip.Addr{nodeA, nodeC}] = true // advertisements and ARP; messages arrive
		l.mu.Unlock()
		time.Sleep(10 * time.Second)
		assert.Equal(t, []netip.Addr{nodeA}, holders(all[nodeA], all[nodeB], all[nodeC]))
		assert.Zero(t, all[nodeC].Status().Fitness)
		stopAll(t, all[nodeA], all[nodeB], all[nodeC])
	})
}
