package daemon

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/config"
)

func TestLogLevelGoesBackByItself(t *testing.T) {
	r := newReloading(t, "vips: [{addresses: [10.77.0.100], check: none}]\nlog: {level: warn}\n")
	bubble.Test(t, func(t *testing.T) {
		var level atomic.Value
		r.level.set = func(l config.LogLevel) { level.Store(l) }
		now := func() any { synctest.Wait(); return level.Load() }
		require.NoError(t, r.level.lend("debug", 10*time.Minute))
		time.Sleep(9 * time.Minute)
		assert.Equal(t, config.LogDebug, now())
		require.NoError(t, r.level.lend("info", 10*time.Minute), "a later one comes in place of it")
		time.Sleep(9 * time.Minute)
		assert.Equal(t, config.LogInfo, now())
		time.Sleep(2 * time.Minute)
		assert.Equal(t, config.LogWarn, now(), "the configured one")

		require.NoError(t, r.level.lend("debug", time.Hour))
		_, err := r.reload(t.Context())
		require.NoError(t, err)
		assert.Equal(t, config.LogWarn, now(), "a reload ends it")
		level.Store(config.LogLevel(""))
		time.Sleep(2 * time.Hour)
		assert.Empty(t, now(), "and nothing comes after it")
	})
}

func TestLogLevelIsOneThatThereIs(t *testing.T) {
	var l logLevel
	assert.EqualError(t, l.lend("loud", time.Minute), `log level "loud", want debug, info, warn or error`)
	assert.EqualError(t, l.lend("debug", 0), "a log level for 0s, want more than 0s and at most 24h0m0s")
	assert.EqualError(t, l.lend("debug", 25*time.Hour), "a log level for 25h0m0s, want more than 0s and at most 24h0m0s")
	assert.EqualError(t, l.lend("debug", time.Hour), "the level of this process's log cannot be changed")
}
