package alarm

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
)

// both are the kinds of Alarm.
func both(t *testing.T, run func(t *testing.T, open func() Alarm)) {
	t.Run("kernel", func(t *testing.T) {
		run(t, func() Alarm {
			a, err := Open()
			require.NoError(t, err)
			return a
		})
	})
	t.Run("plain", func(t *testing.T) { run(t, Plain) })
}

func TestAlarmWakesWhenTheTimeHasCome(t *testing.T) {
	both(t, func(t *testing.T, open func() Alarm) {
		a := open()
		for range 3 { // what was read of the one before does not matter
			at := time.Now().Add(5 * time.Millisecond)
			a.Set(at.Add(-3 * time.Millisecond))
			a.Set(at)
			require.True(t, a.Wait())
			assert.False(t, time.Now().Before(at))
		}
		a.Set(time.Now().Add(-time.Second))
		require.True(t, a.Wait(), "it is past")
		a.Set(time.Now().Add(time.Hour))
		woken := make(chan bool)
		go func() { woken <- a.Wait() }()
		a.Set(time.Now())
		assert.True(t, <-woken, "while somebody waits")
		go func() { woken <- a.Wait() }()
		require.NoError(t, a.Close())
		assert.False(t, <-woken)
		a.Set(time.Now())
		assert.False(t, a.Wait(), "it is closed")
	})
}

func TestAlarmWakesOnceForEachSet(t *testing.T) {
	both(t, func(t *testing.T, open func() Alarm) {
		a := open()
		a.Set(time.Now())
		require.True(t, a.Wait())
		woken := make(chan bool)
		go func() { woken <- a.Wait() }()
		select {
		case <-woken:
			assert.Fail(t, "nothing was set")
		case <-time.After(20 * time.Millisecond):
		}
		require.NoError(t, a.Close())
		assert.False(t, <-woken)
	})
}

func TestHandedAlarm(t *testing.T) {
	both(t, func(t *testing.T, open func() Alarm) {
		a := open()
		came, stop := Hand(a)
		for range 3 {
			at := time.Now().Add(time.Millisecond)
			a.Set(at)
			assert.False(t, (<-came).Before(at))
		}
		a.Set(time.Now()) // and nobody takes it
		stop()
	})
}

func TestPlainAlarmKeepsVirtualTime(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a, at := Plain(), time.Now().Add(time.Hour)
		a.Set(at)
		require.True(t, a.Wait())
		assert.Equal(t, at, time.Now())
	})
}
