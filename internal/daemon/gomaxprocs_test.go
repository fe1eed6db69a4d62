package daemon

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/config"
)

func TestLimitGOMAXPROCS(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	all := runtime.GOMAXPROCS(0)
	t.Cleanup(func() { runtime.GOMAXPROCS(all) })
	of := func(elections ...config.Election) *config.Config {
		cfg := &config.Config{}
		for _, e := range elections {
			cfg.VIPs = append(cfg.VIPs, config.VIP{Election: e})
		}
		return cfg
	}
	limitGOMAXPROCS(of(config.ElectionVRRP, config.ElectionRaft))
	assert.Equal(t, all, runtime.GOMAXPROCS(0))
	limitGOMAXPROCS(of(config.ElectionRaft, config.ElectionRaft))
	assert.Equal(t, 1, runtime.GOMAXPROCS(0))
	limitGOMAXPROCS(of(config.ElectionVRRP))
	if all > 1 {
		assert.Greater(t, runtime.GOMAXPROCS(0), 1, "after a reload")
	}
	runtime.GOMAXPROCS(all)
	t.Setenv("GOMAXPROCS", "3")
	limitGOMAXPROCS(of(config.ElectionRaft))
	assert.Equal(t, all, runtime.GOMAXPROCS(0), "the environment has said so")
}
