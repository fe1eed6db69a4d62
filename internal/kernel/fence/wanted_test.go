package fence

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// standing has three groups: one that is held and shut in part, one on standby, and one that is neither.
func standing(t *testing.T, began time.Time) *wanted {
	t.Helper()
	w, err := wantedOf([]Group{
		grouped(2, netip.MustParseAddr("10.0.0.2")), grouped(3, netip.MustParseAddr("10.0.0.3")), grouped(4, netip.MustParseAddr("10.0.0.4")),
	}, nil)
	require.NoError(t, err)
	w.hold(2, inward, began)
	w.standBy(3, began)
	return &w
}

func TestWantedKeepsWhatStaysThroughAnExchange(t *testing.T) {
	began := time.Unix(1000, 0)
	later := began.Add(30 * time.Second)
	w := standing(t, began)
	shorter := func(id uint32) Group {
		g := w.groups[id]
		g.Guard = 10 * time.Second
		return g
	}
	next, begin := w.successors([]Group{w.groups[2], w.groups[3], grouped(5, netip.MustParseAddr("10.0.0.5"))}, []uint32{2, 5, 6})
	assert.Equal(t, []uint32{5}, begin, "2 is there already, and 6 does not come")
	w.replace(next, begin, later)
	assert.Equal(t, map[uint32]part{2: inward, 5: 0}, w.held)
	assert.Equal(t, map[uint32]time.Time{2: began.Add(time.Minute), 5: later.Add(time.Minute)}, w.guards, "2 is what it was")
	assert.Equal(t, map[uint32]time.Time{3: began.Add(standbyFor(time.Minute))}, w.standby)

	next, begin = w.successors([]Group{shorter(2), shorter(3)}, nil)
	assert.Empty(t, begin)
	w.replace(next, begin, later)
	assert.Equal(t, map[uint32]part{2: inward}, w.held)
	assert.Equal(t, map[uint32]time.Time{2: later.Add(time.Minute)}, w.guards, "the addresses live on for as long as they were given before")
	assert.Equal(t, map[uint32]time.Time{3: later.Add(standbyFor(time.Minute))}, w.standby)

	w.replace(nil, nil, later)
	assert.Empty(t, w.held)
	assert.Empty(t, w.guards)
	assert.Empty(t, w.standby)
}

func TestWantedKeepsTheLaterEndOfSpreadPorts(t *testing.T) {
	w := standing(t, time.Unix(1000, 0))
	early, late := time.Unix(1010, 0), time.Unix(1020, 0)
	w.spreadUntil(2, late)
	w.spreadUntil(3, early)
	two, three := w.groups[2], w.groups[3]
	two.Spread.Until, three.Spread.Until = early, late
	next, _ := w.successors([]Group{two, three}, nil)
	assert.Equal(t, late, next[2].Spread.Until, "what somebody translates goes on")
	assert.Equal(t, late, next[3].Spread.Until)
}

func TestWantedIsHeldOrOnStandby(t *testing.T) {
	began := time.Unix(1000, 0)
	w := standing(t, began)
	require.NoError(t, w.guarded(2, began.Add(time.Minute-1)))
	require.ErrorIs(t, w.guarded(2, began.Add(time.Minute)), errBroken)
	require.ErrorIs(t, w.guarded(3, began), errBroken)
	w.hold(3, 0, began)
	assert.NotContains(t, w.standby, uint32(3))
	require.NoError(t, w.guarded(3, began))
	w.standBy(2, began)
	assert.NotContains(t, w.held, uint32(2))
	require.ErrorIs(t, w.guarded(2, began), errBroken)

	later := began.Add(time.Hour)
	w.rebuilt(later)
	assert.Equal(t, map[uint32]time.Time{3: later.Add(time.Minute)}, w.guards)
	assert.Equal(t, map[uint32]time.Time{2: later.Add(standbyFor(time.Minute))}, w.standby)
	w.forget(2)
	w.forget(3)
	assert.Empty(t, w.guards)
	assert.Empty(t, w.standby)
}
