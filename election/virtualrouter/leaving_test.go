package virtualrouter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

func TestLeavingMakesTheNodeUnfit(t *testing.T) {
	asked := &handover{reason: "uid 0 asked for a handover", code: code.Handover}
	to := &handover{to: "b", reason: "uid 0 asked for a handover to b", code: code.Handover}
	held := election.Fitness{Less: 255, Reason: "uid 0 holds it", Code: code.Held}
	stops := leaving{until: time.Unix(1, 0), why: stop{Reason: "stopping", Code: code.Stopping}}
	out := election.Fitness{Out: true, Reason: "no link"}
	for name, tt := range map[string]struct {
		leaving leaving
		f, want election.Fitness
	}{
		"stays":            {leaving{}, held, held},
		"is asked":         {leaving{handover: asked}, election.Fitness{Wait: true}, election.Fitness{Wait: true, Less: 255, Reason: asked.reason, Code: code.Handover}},
		"is held as well":  {leaving{handover: asked}, held, held},
		"is held, to one":  {leaving{handover: to}, held, election.Fitness{Less: 255, Reason: to.reason + "; " + held.Reason, Code: code.Handover}},
		"stops":            {stops, election.Fitness{}, election.Fitness{Less: 255, Reason: "stopping", Code: code.Stopping}},
		"has given up":     {stops, out, out},
		"is asked, is out": {leaving{handover: asked}, out, out},
	} {
		assert.Equal(t, tt.want, tt.leaving.worsen(tt.f), name)
	}
}

func TestLeavingPassesOnBeforeItDeparts(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	var l leaving
	assert.False(t, l.departs())
	l.depart(now, stop{Reason: "stopping", Code: code.Stopping})
	assert.Equal(t, now, l.until, "nothing delays it")
	h := l.linger(now)
	require.NotNil(t, h)
	assert.Equal(t, now.Add(departTime), l.until)
	assert.Equal(t, []any{"stopping", code.Stopping, l.until}, []any{h.reason, h.code, h.end})
	l.handover = h
	assert.Nil(t, l.linger(now), "one is under way")

	assert.False(t, l.abandon(now, &handover{}), "another one")
	assert.True(t, l.abandon(now, h))
	assert.Equal(t, now, h.end)
	l.handover = nil
	assert.True(t, l.departs(), "it goes on without")
}

func TestHandoverSettlesWhenItsTakerIsHeardForAWhile(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	var h handover
	h.note(now, true)
	h.note(now.Add(settleTime-1), true)
	assert.False(t, h.settled(now.Add(settleTime-1)))
	assert.True(t, h.settled(now.Add(settleTime)))
	h.note(now.Add(settleTime), false)
	assert.False(t, h.settled(now.Add(2*settleTime)), "it has resigned")
}
