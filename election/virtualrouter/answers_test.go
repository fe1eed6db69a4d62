package virtualrouter

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/base/code"
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
