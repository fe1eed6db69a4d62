package address

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// answered has a holder answer a question at that moment.
func (a *answering) answered(now time.Time) {
	a.ask(now, true)
	a.claim(now.Add(time.Millisecond), true)
}

// untilSilent asks until the holder is found out, and is when that was; with more than a hundred questions it is not.
func (a *answering) untilSilent(now time.Time) (questions int, at time.Time) {
	a.ask(now, true)
	for questions = 1; questions < 100 && !a.who().IsValid(); questions++ {
		now = a.next
		a.ask(now, true)
	}
	return questions, now
}

func TestHolderThatStopsToAnswerIsFoundOut(t *testing.T) {
	now := time.Unix(1000, 0)
	var a answering
	a.follow(now, nodeB)
	for range 3 * askHolderTimes {
		a.ask(now, true)
	}
	assert.False(t, a.who().IsValid(), "nobody has ever answered on this link")

	a.claim(now, true)
	a.ask(now, true)
	n := 1
	for ; n < 100 && !a.who().IsValid(); n++ {
		now = a.next
		assert.True(t, a.due(now))
		a.ask(now, true)
	}
	assert.Equal(t, askHolderTimes, n)
	assert.Equal(t, nodeB, a.who())
	assert.False(t, a.due(now.Add(time.Hour)), "the questions of the schedule go on alone")

	a.claim(now, true)
	assert.False(t, a.who().IsValid())
	a.ask(now, true)
	a.follow(now, nodeA)
	assert.Equal(t, now.Add(askNewHolder[0]), a.next, "another holder")
	a.follow(now, netip.Addr{})
	assert.False(t, a.due(now.Add(time.Hour)), "nobody")
}

// The kernel may refuse to send: while this node tells the clients of connections that it has left, its fence lets nothing about the address pass.
func TestHolderIsNotBlamedForQuestionsThatHaveNotLeft(t *testing.T) {
	now := time.Unix(1e9, 0)
	a := answering{}
	a.follow(now, nodeB)
	a.answered(now)
	for range 3 * askHolderTimes {
		now = now.Add(askHolderEvery)
		a.ask(now, false)
		assert.Equal(t, now.Add(askHolderEvery), a.next, "it is tried again")
		assert.False(t, a.who().IsValid())
	}
	for range askHolderTimes {
		assert.False(t, a.who().IsValid())
		now = now.Add(askHolderEvery)
		a.ask(now, true)
	}
	assert.Equal(t, nodeB, a.who())
}

// A switch may drop questions without a sender, and let announcements through: on such a link nobody ever answers.
func TestHolderIsNotBlamedByWhomItHasNeverAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		after time.Duration // a question the holder speaks for the address
		asked bool          // and that looks like an answer
		want  bool
	}{
		"an announcement a moment after a question": {time.Millisecond, false, false},
		"what looks like an answer, long after it":  {askHolderEvery, true, false},
		"an answer": {askHolderEvery - 1, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(1000, 0)
			var a answering
			a.claim(now, true)
			a.follow(now, nodeB)
			for range 3 {
				now = now.Add(time.Minute)
				a.ask(now, true)
				a.claim(now.Add(c.after), c.asked)
				for range askHolderTimes {
					now = now.Add(time.Second)
					a.ask(now, true)
				}
				assert.Equal(t, c.want, a.who().IsValid())
			}
		})
	}
}

// A new holder is asked soon, so that one that answers, and then does not, is found out. Its announcements are none of the answers.
func TestNewHolderIsAskedUntilItAnswers(t *testing.T) {
	start := time.Unix(1000, 0)
	for name, c := range map[string]struct {
		answers int // the first question that is answered
		want    []time.Duration
	}{
		"the first": {0, askNewHolder[:1]},
		"the last":  {2, askNewHolder},
		"none":      {3, askNewHolder},
	} {
		t.Run(name, func(t *testing.T) {
			var a answering
			var asked []time.Duration
			a.follow(start, nodeB)
			for !a.next.IsZero() {
				now := a.next
				a.ask(now, true)
				if asked = append(asked, now.Sub(start)); len(asked) > c.answers {
					a.claim(now.Add(time.Millisecond), true)
				}
			}
			assert.Equal(t, c.want, asked)
			assert.Equal(t, c.answers < len(askNewHolder), a.ever)
		})
	}
}

// A node that takes over and never answers is to blame where the one before did answer, but not where that stopped, too.
func TestNextHolderThatNeverAnswersIsFoundOutUnlessTheQuestionsAreLost(t *testing.T) {
	now := time.Unix(1000, 0)
	var a answering
	a.follow(now, nodeA)
	a.answered(now)
	a.follow(now, netip.Addr{}) // it is dead
	a.follow(now, nodeB)
	n, now := a.untilSilent(now.Add(time.Minute))
	assert.Equal(t, askHolderTimes, n)
	assert.Equal(t, nodeB, a.who())

	a.follow(now, nodeA)
	for range 3 * askHolderTimes {
		now = now.Add(time.Second)
		a.ask(now, true)
		assert.False(t, a.who().IsValid(), "two of them do not answer: it may be the link")
	}
	a.answered(now)
	_, now = a.untilSilent(now.Add(time.Minute))
	assert.Equal(t, nodeA, a.who(), "it has answered, and stopped")

	times := a.silent
	for range askHolderTimes {
		now = now.Add(time.Second)
		assert.Equal(t, times, a.silent)
		a.ask(now, true)
	}
	assert.Equal(t, times+1, a.silent, "it is said again")
	assert.Equal(t, nodeA, a.who())
}
