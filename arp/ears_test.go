package arp

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Who takes over an address because nobody answers for it has to have asked: without a question silence proves nothing.
func TestEarsThatCannotAskTakeSomebodyToAnswer(t *testing.T) {
	closed := &Ears{from: netip.MustParseAddr("192.0.2.1"), fd: -1}
	assert.True(t, closed.Answers(netip.MustParseAddr("192.0.2.9"), 2, time.Millisecond))
}

// A host that announces is there, and proves nothing. A switch may let through what goes to all, and drop the answers
// to questions.
func TestEarsTakeAnAnswerAloneForOne(t *testing.T) {
	at := netip.MustParseAddr("192.0.2.9")
	asked := time.Now()
	for name, tt := range map[string]struct {
		answer bool
		after  time.Duration
		want   bool
	}{
		"an announcement":           {after: time.Millisecond},
		"an answer":                 {answer: true, after: time.Millisecond, want: true},
		"an answer to another host": {answer: true, after: -time.Millisecond},
		"an answer that is late":    {answer: true, after: answersWithin},
	} {
		t.Run(name, func(t *testing.T) {
			e := &Ears{voices: map[netip.Addr]voice{}, asked: map[netip.Addr]time.Time{at: asked}}
			e.note(Claim{Addr: at, Answer: tt.answer}, asked.Add(tt.after))
			assert.Equal(t, asked.Add(tt.after), e.voices[at].at, "it was heard in any case")
			assert.Equal(t, tt.want, !e.voices[at].answered.IsZero())
			e.note(Claim{Addr: at}, asked.Add(time.Minute))
			assert.Equal(t, tt.want, !e.voices[at].answered.IsZero(), "it has answered then, whatever it says later")
		})
	}
}
