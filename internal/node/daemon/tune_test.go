package daemon

import (
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/config"
)

func TestLimitGOMAXPROCS(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	before := runtime.GOMAXPROCS(0)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	runtime.SetDefaultGOMAXPROCS() // whoever runs the test may have said another one
	all := runtime.GOMAXPROCS(0)
	of := func(elections ...config.Election) *config.Config {
		cfg := &config.Config{}
		for _, e := range elections {
			cfg.VIPs = append(cfg.VIPs, config.VIP{Election: e})
		}
		return cfg
	}
	limitGOMAXPROCS(of(config.ElectionVRRP, config.ElectionRaft))
	assert.Equal(t, min(all, 2), runtime.GOMAXPROCS(0))
	assert.Equal(t, 2, processors(of(config.ElectionVRRP), 64), "a large machine")
	assert.Equal(t, 1, processors(of(config.ElectionVRRP), 1), "a small one")
	limitGOMAXPROCS(of(config.ElectionRaft, config.ElectionRaft))
	assert.Equal(t, 1, runtime.GOMAXPROCS(0))
	limitGOMAXPROCS(of(config.ElectionVRRP))
	if all > 1 && runtime.NumCPU() > 1 {
		assert.Greater(t, runtime.GOMAXPROCS(0), 1, "after a reload")
	}
	limitGOMAXPROCS(advertising(time.Second, crowdTicks))
	assert.Equal(t, 1, runtime.GOMAXPROCS(0), "many, once a second")
	runtime.GOMAXPROCS(all)
	t.Setenv("GOMAXPROCS", "3")
	limitGOMAXPROCS(of(config.ElectionRaft))
	assert.Equal(t, all, runtime.GOMAXPROCS(0), "the environment has said so")
}

func TestLimitGarbage(t *testing.T) {
	t.Setenv("GOGC", "")
	before := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	limit := func(cfg *config.Config) int {
		limitGarbage(cfg)
		return debug.SetGCPercent(100)
	}
	assert.Equal(t, crowdGCPercent, limit(advertising(time.Second, crowdTicks)), "many")
	assert.Equal(t, gcPercent, limit(advertising(time.Second, crowdTicks-1)), "fewer, after a reload")
	assert.Equal(t, gcPercent, limit(advertising(100*time.Millisecond, crowdTicks)), "many that must be quick")
	t.Setenv("GOGC", "70")
	assert.Equal(t, 100, limit(advertising(time.Second, crowdTicks)), "the environment has said so")
}

// advertising are so many entries of VRRP that advertise at that interval.
func advertising(every time.Duration, entries int) *config.Config {
	return &config.Config{VIPs: slices.Repeat([]config.VIP{{VRRP: config.VRRP{AdvertisementInterval: every}, Election: config.ElectionVRRP}}, entries)}
}

func TestOnlyManySlowVirtualRoutersAreUnhurried(t *testing.T) {
	assert.True(t, unhurried(advertising(time.Second, crowdTicks)))
	assert.False(t, unhurried(advertising(time.Second, crowdTicks-1)), "few")
	assert.False(t, unhurried(advertising(999*time.Millisecond, crowdTicks)), "fast")
	mixed := advertising(time.Second, crowdTicks)
	mixed.VIPs[3] = config.VIP{Election: config.ElectionRaft}
	assert.True(t, unhurried(mixed), "with one of Raft")
	mixed.VIPs[3] = config.VIP{Election: config.ElectionVRRP, VRRP: config.VRRP{AdvertisementInterval: 100 * time.Millisecond}}
	assert.False(t, unhurried(mixed), "one that is fast")
}
