package virtualrouter

import (
	"fmt"
	"net/netip"
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

func TestHolderThatDoesNotAnswerGivesTheAddressAway(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		l.talk = true
		h, others := three(t, l)
		time.Sleep(5 * time.Second)
		asked, ok := others[0].Elector.(election.Questioner)
		assert.True(t, ok)
		asked.SetUnanswered(h.self)
		time.Sleep(time.Second)
		next := holder(t, time.Second, h, others[0], others[1])
		assert.NotEqual(t, h.self, next.self)
		assert.Len(t, next.taken(), 1, "it was passed on")
		assert.Equal(t, code.Unanswered, h.Status().Fitness.Code, "what is broken stays broken")
		time.Sleep(15 * time.Second)
		assert.Zero(t, h.Status().Fitness)
		assert.True(t, next.holds())
		stopAll(t, h, others[0], others[1])
	})
}

func TestHolderThatDoesNotAnswerStaysWhereNobodyIsFit(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		l.talk = true
		h, others := three(t, l)
		for _, o := range others {
			o.SetFitness(election.Fitness{Less: 255, Reason: "the check fails", Code: code.CheckFailed})
			o.Elector.(election.Questioner).SetUnanswered(h.self)
		}
		time.Sleep(10 * time.Second)
		assert.Equal(t, []netip.Addr{h.self}, holders(h, others[0], others[1]))
		assert.Equal(t, code.Unanswered, h.Status().Fitness.Code)
		stopAll(t, h, others[0], others[1])
	})
}

// answersReach lets answers get to a node, or nothing but what goes to all.
func (l *lan) answersReach(node netip.Addr, reach bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.ears {
		if e.self == node {
			e.asked = !reach
		}
	}
}

// Where what goes to one node alone is lost, as with a MAC that another host has, too, that node hears advertisements and no answer of anybody. It must not
// take the address from a holder that answers.
func TestHolderStaysWhereNoHostAnswersTheNodeThatBlamesIt(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		l.talk, l.ask = true, true
		h, others := three(t, l)
		time.Sleep(30 * time.Second)
		accuser := others[1]
		asked := accuser.Elector.(election.Questioner)
		l.answersReach(accuser.self, false)
		for range 5 {
			asked.SetUnanswered(h.self)
			for range 120 {
				l.asks(clientAddr) // a word to all is no answer
				time.Sleep(100 * time.Millisecond)
			}
			require.True(t, h.holds())
			require.Zero(t, h.Status().Fitness)
		}
		l.answersReach(accuser.self, true)
		time.Sleep(10 * time.Second)
		assert.True(t, h.holds(), "the holder was not asked again yet")
		assert.Zero(t, h.Status().Fitness)

		asked.SetUnanswered(h.self)
		next := holder(t, time.Second, h, others[0], others[1])
		assert.NotEqual(t, h.self, next.self, "the others answer")
		assert.Equal(t, code.Unanswered, h.Status().Fitness.Code)
		stopAll(t, h, others[0], others[1])
	})
}

// Two nodes that are alone on a link have nobody else to ask, nor have those whose other hosts have left.
func TestHolderOfTwoThatDoesNotAnswerGivesTheAddressAway(t *testing.T) {
	for name, c := range map[string]struct {
		third bool                    // there is a third node
		host  bool                    // there is a host that takes no part
		peers []netip.Addr            // of the configuration
		leave func(l *lan, o *member) // what becomes of them
		long  time.Duration           // before the holder is blamed
		waits time.Duration           // until it gives the address away
	}{
		"nobody else was ever there":         {waits: time.Second},
		"a peer was never there":             {peers: []netip.Addr{nodeA, nodeB, nodeC}, waits: time.Second},
		"a third node has died":              {third: true, leave: func(l *lan, _ *member) { l.isolate(nodeC, true) }, long: 10 * time.Minute, waits: time.Second},
		"a third node has died lately":       {third: true, leave: func(l *lan, _ *member) { l.isolate(nodeC, true) }, long: 10 * time.Second, waits: time.Second},
		"a third node has died a moment ago": {third: true, leave: func(l *lan, _ *member) { l.isolate(nodeC, true) }, waits: 5 * time.Second},
		"a third node is deaf":               {third: true, leave: func(l *lan, _ *member) { l.noArrivals(nodeC, true) }, long: 10 * time.Second, waits: time.Second},
		"a third node has been shut down":    {third: true, leave: func(l *lan, o *member) { o.cancel(nil); time.Sleep(time.Second); l.isolate(nodeC, true) }, waits: time.Second},
		"another host was taken away":        {host: true, leave: func(l *lan, _ *member) { l.isolate(gatewayAddr, true) }, long: time.Minute, waits: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				l := newLAN()
				l.talk, l.ask, l.peers = true, true, c.peers
				if c.host {
					l.hosts = []netip.Addr{gatewayAddr}
				}
				h := l.start(t, nodeA, nil)
				time.Sleep(2 * time.Second)
				other, third := l.start(t, nodeB, withoutPreemption), (*member)(nil)
				if c.third {
					third = l.start(t, nodeC, withoutPreemption)
				}
				time.Sleep(30 * time.Second)
				require.True(t, h.holds())
				if c.leave != nil {
					c.leave(l, third)
				}
				time.Sleep(c.long)
				l.answersReach(nodeB, false)
				other.Elector.(election.Questioner).SetUnanswered(nodeA)
				time.Sleep(c.waits)
				assert.True(t, other.holds())
				assert.Equal(t, code.Unanswered, h.Status().Fitness.Code)
				stopAll(t, h, other)
				if third != nil {
					require.NoError(t, third.stop())
				}
			})
		})
	}
}

// A host that falls silent together with the holder may be there, and its answers do not reach this node, for however long that lasts.
func TestHolderStaysWhereEverybodyFallsSilentForTheNodeThatBlamesIt(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		l.talk, l.ask, l.hosts = true, true, []netip.Addr{gatewayAddr}
		h := l.start(t, nodeA, nil)
		time.Sleep(2 * time.Second)
		accuser := l.start(t, nodeB, withoutPreemption)
		time.Sleep(time.Minute)
		l.answersReach(nodeB, false)
		time.Sleep(15 * time.Second)
		asked := accuser.Elector.(election.Questioner)
		for range 20 {
			asked.SetUnanswered(nodeA)
			time.Sleep(96 * time.Second)
			require.True(t, h.holds())
			require.Zero(t, h.Status().Fitness)
		}
		l.answersReach(nodeB, true)
		asked.SetUnanswered(nodeA)
		time.Sleep(time.Second)
		assert.True(t, accuser.holds(), "the host answers")
		stopAll(t, h, accuser)
	})
}

// outsidersOf is what the status of a node says of who does not reach the holder.
func outsidersOf(m *member) (out []netip.Addr) {
	for _, o := range m.Status().Outside {
		out = append(out, o.Address)
	}
	return out
}

func TestHolderThatTwoMembersDoNotReachGivesTheAddressAway(t *testing.T) {
	for _, preempt := range []bool{true, false} {
		t.Run(fmt.Sprintf("preempt %v", preempt), func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				l := newLAN()
				l.talk = true
				h, others := three(t, l, func(c *vrrp.Config) { c.Preempt = preempt })
				time.Sleep(5 * time.Second)
				others[0].Elector.(election.Visitor).SetUnreached(election.Unreached{Holder: h.self})
				time.Sleep(20 * time.Second)
				require.True(t, h.holds(), "one member may be the one whose connections do not leave")
				for _, o := range []*member{h, others[0], others[1]} {
					assert.Equal(t, []netip.Addr{others[0].self}, outsidersOf(o), "named on %s", o.self)
				}
				assert.Zero(t, h.Status().Fitness)

				others[1].Elector.(election.Visitor).SetUnreached(election.Unreached{Holder: h.self})
				next := holder(t, time.Second, h, others[0], others[1])
				assert.NotEqual(t, h.self, next.self)
				assert.Len(t, next.taken(), 1, "it was passed on")
				assert.Equal(t, code.HeldUnreached, h.Status().Fitness.Code, "what is broken stays broken")
				for _, o := range []*member{h, others[0], others[1]} {
					assert.Empty(t, outsidersOf(o), "nobody has looked at the new holder yet")
				}
				for _, o := range others {
					o.Elector.(election.Visitor).SetUnreached(election.Unreached{})
				}
				time.Sleep(15 * time.Second)
				assert.Zero(t, h.Status().Fitness)
				assert.True(t, next.holds())
				stopAll(t, h, others[0], others[1])
			})
		})
	}
}

func TestHolderThatIsNotReachedStays(t *testing.T) {
	for name, c := range map[string]struct {
		unfit, never bool
		sayers       int
	}{
		"where no other node is fit":                                 {unfit: true, sayers: 2},
		"where those that say so have never reached any holder":      {never: true, sayers: 2},
		"where one says so, be it that nobody else could":            {sayers: 1},
		"where what is said is about another node than the holder's": {sayers: 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				l := newLAN()
				l.talk = true
				h, others := three(t, l)
				for i, o := range others {
					if c.unfit {
						o.SetFitness(election.Fitness{Less: 255, Reason: "the check fails", Code: code.CheckFailed})
					}
					u := election.Unreached{Holder: h.self, Never: c.never}
					if i >= c.sayers {
						u.Holder = others[1-i].self
					}
					o.Elector.(election.Visitor).SetUnreached(u)
				}
				time.Sleep(10 * time.Second)
				assert.Equal(t, []netip.Addr{h.self}, holders(h, others[0], others[1]))
				for _, o := range []*member{h, others[0], others[1]} {
					assert.Len(t, outsidersOf(o), c.sayers, "on %s", o.self)
				}
				stopAll(t, h, others[0], others[1])
			})
		})
	}
}

// In plain VRRP nobody can be told: the node that looks says it by itself.
func TestNodeInPlainVRRPSaysItselfThatItDoesNotReachTheHolder(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		h, others := three(t, l)
		for _, o := range others {
			o.Elector.(election.Visitor).SetUnreached(election.Unreached{Holder: h.self})
		}
		time.Sleep(5 * time.Second)
		assert.True(t, h.holds())
		assert.Equal(t, []netip.Addr{others[0].self}, outsidersOf(others[0]))
		assert.Empty(t, outsidersOf(h))
		stopAll(t, h, others[0], others[1])
	})
}

// An answer from before the question says nothing of this moment, and neither does a late one.
func TestHostVouchesByAnAnswerOfThisMoment(t *testing.T) {
	asked := time.Unix(1000, 0)
	for after, want := range map[time.Duration]bool{-members.QuestionGap: false, 1 - members.QuestionGap: true, vouchTime - 1: true, vouchTime: false} {
		b := blame{holder: nodeA, asked: asked}
		b.hear(asked.Add(after))
		assert.Equal(t, want, b.said().IsValid(), after)
	}
}
