//go:build netns

package netnstests

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// A user without privileges holds 6,000 connections to the metrics of the holder, and asks on. Nobody notices: not the election,
// not the kubelet, which asks as root, and not the memory.
func TestMetricsListenerWithstandsALocalUser(t *testing.T) {
	const connections, perSecond = 6000, 500
	listener := netip.MustParseAddrPort("127.0.0.1:9647")
	g := open(t, trial.Config{
		Product:  trial.Keepvip{Metrics: listener.String()},
		Interval: 10 * time.Millisecond,
	})
	holder := settled(t, g)
	before, err := trial.Keepvip{}.Status(holder)
	require.NoError(t, err)
	m, err := g.Lab.Measure(lab.MeasureConfig{})
	require.NoError(t, err)
	at := m.Mark("flood")
	flood, err := holder.FloodLocal(listener, 1000, connections, perSecond, "/metrics")
	require.NoError(t, err)
	asked, answered := 0, 0
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); asked++ {
		if status, err := holder.Ask(listener, "/livez", time.Second); err == nil && status == "200" {
			answered++
		}
		settleFor(100 * time.Millisecond)
	}
	opened, failed := flood.Stop()
	r := m.Stop()
	rss, err := g.Daemon(holder).PeakRSS()
	require.NoError(t, err)
	t.Logf("%d connections, %d refused, %d of %d probes answered, %.1f MiB at most, stall %s ms", opened, failed, answered, asked,
		float64(rss)/(1<<20), lab.Milliseconds(r.OrdinaryStall))
	assert.Greater(t, opened, connections)
	assert.Equal(t, asked, answered, "probes of the kubelet")
	assert.Less(t, rss, int64(40<<20))
	after, err := trial.Keepvip{}.Status(holder)
	require.NoError(t, err)
	if r.OrdinaryStall < 10*time.Millisecond {
		assert.Zero(t, r.Takeovers(lab.VIP4, at))
		assert.Equal(t, before.VIPs[0].State, after.VIPs[0].State)
	}
}
