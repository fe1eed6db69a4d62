package fence

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/bubble"
)

const checkAge = 900 * time.Millisecond

func TestLookServesAllGroups(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var l looks
		made, repairs, broken := 0, 0, error(nil)
		look := func() error { made++; return broken }
		repair := func() error { repairs++; broken = nil; return nil }
		for range 255 {
			_, err := l.verify(checkAge, look)
			assert.NoError(t, err)
		}
		assert.Equal(t, 1, made)

		time.Sleep(time.Second)
		broken = errors.New("flushed")
		var seen []time.Time
		for range 255 {
			at, err := l.verify(checkAge, look)
			assert.Error(t, err)
			seen = append(seen, at)
		}
		assert.Equal(t, 2, made)
		time.Sleep(time.Millisecond)
		for _, at := range seen {
			assert.NoError(t, l.mend(at, repair))
		}
		assert.Equal(t, 1, repairs)
		at, err := l.verify(checkAge, look)
		assert.NoError(t, err, "looked at again after the repair")
		time.Sleep(time.Millisecond)
		assert.NoError(t, l.mend(at, repair))
		assert.Equal(t, 2, repairs, "what broke after a repair is repaired anew")
	})
}

func TestLooksRepairAgainAfterARepairThatFailed(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var l looks
		at, _ := l.verify(checkAge, func() error { return errors.New("gone") })
		fails := func() error { return errors.New("no") }
		assert.Error(t, l.mend(at, fails))
		assert.Error(t, l.mend(at, fails))
	})
}

func TestLooksTellWhenALeaseWasMissed(t *testing.T) {
	var l looks
	assert.True(t, l.missedAt().IsZero())
	before := time.Now()
	l.miss()
	assert.WithinDuration(t, before, l.missedAt(), time.Minute)
}

func TestStandbyOutlastsTheGuardOfAHolder(t *testing.T) {
	for guard, want := range map[time.Duration]time.Duration{
		7 * time.Second:  11 * time.Second, // a few addresses
		82 * time.Second: 102500 * time.Millisecond,
	} {
		assert.Equal(t, want, standbyFor(guard))
	}
}

// How long ago it was must not depend on who sets the clock.
func TestMissedLeaseIsDatedByBothClocks(t *testing.T) {
	var l looks
	assert.True(t, l.missedAt().IsZero())
	l.miss()
	assert.Contains(t, l.missedAt().String(), " m=+")
}
