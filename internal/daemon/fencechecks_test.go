package daemon

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

const checkAge = 900 * time.Millisecond

func TestChecksServeAllGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c checks
		looks, repairs, broken := 0, 0, error(nil)
		look := func() error { looks++; return broken }
		repair := func() error { repairs++; broken = nil; return nil }
		for range 255 {
			_, err := c.check(checkAge, look)
			assert.NoError(t, err)
		}
		assert.Equal(t, 1, looks)

		time.Sleep(time.Second)
		broken = errors.New("flushed")
		var seen []time.Time
		for range 255 {
			at, err := c.check(checkAge, look)
			assert.Error(t, err)
			seen = append(seen, at)
		}
		assert.Equal(t, 2, looks)
		time.Sleep(time.Millisecond)
		for _, at := range seen {
			assert.NoError(t, c.mend(at, repair))
		}
		assert.Equal(t, 1, repairs)
		at, err := c.check(checkAge, look)
		assert.NoError(t, err, "looked at again after the repair")
		time.Sleep(time.Millisecond)
		assert.NoError(t, c.mend(at, repair))
		assert.Equal(t, 2, repairs, "what broke after a repair is repaired anew")
	})
}

func TestChecksTryAgainAfterARepairThatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c checks
		at, _ := c.check(checkAge, func() error { return errors.New("gone") })
		fails := func() error { return errors.New("no") }
		assert.Error(t, c.mend(at, fails))
		assert.Error(t, c.mend(at, fails))
	})
}
