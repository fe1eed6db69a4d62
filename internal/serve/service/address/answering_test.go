package address

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// What is heard of a holder: answers, and announcements. With IPv6 both look the same.
var (
	answer4   = Claim{Address: vip4.Addr(), Answer: true}
	announce4 = Claim{Address: vip4.Addr()}
	claim6    = Claim{Address: vip6.Addr()}
)

// answered has a holder answer a question at that moment.
func (a *answering) answered(now time.Time) {
	a.ask(now, true)
	a.claim(now.Add(time.Millisecond), answer4)
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

	a.claim(now, answer4)
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

	a.claim(now, answer4)
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
		claim Claim
		want  bool
	}{
		"an announcement a moment after a question": {time.Millisecond, announce4, false},
		"what looks like an answer, long after it":  {askHolderEvery, answer4, false},
		"an answer": {askHolderEvery - 1, answer4, true},
		"with IPv6 what comes after a question of the schedule may be an announcement": {time.Millisecond, claim6, false},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(1000, 0)
			var a answering
			a.claim(now, answer4)
			a.follow(now, nodeB)
			for range 3 {
				now = now.Add(time.Minute)
				a.ask(now, true)
				a.claim(now.Add(c.after), c.claim)
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
		claim   Claim
		answers int           // the first question that is answered
		late    time.Duration // by which each leaves
		want    []time.Duration
		ever    bool
	}{
		"the first":                   {answer4, 0, 0, askNewHolder[:1], true},
		"the last":                    {answer4, 2, 0, askNewHolder, true},
		"none":                        {answer4, 3, 0, askNewHolder, false},
		"the first, with IPv6":        {claim6, 0, 0, askNewHolder[:1], true},
		"the last, with IPv6":         {claim6, 2, 0, askNewHolder, true},
		"announcements alone":         {announce4, 0, 0, askNewHolder, false},
		"IPv6, where this node stood": {claim6, 0, askHolderEvery, askNewHolder, false},
	} {
		t.Run(name, func(t *testing.T) {
			var a answering
			var asked []time.Duration
			a.follow(start, nodeB)
			for !a.next.IsZero() {
				due := a.next
				now := due.Add(c.late)
				a.ask(now, true)
				if asked = append(asked, due.Sub(start)); len(asked) > c.answers {
					a.claim(now.Add(time.Millisecond), c.claim)
				}
			}
			assert.Equal(t, c.want, asked)
			assert.Equal(t, c.ever, a.ever)
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
