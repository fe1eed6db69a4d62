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

// A user without privileges opens 6,000 connections to the metrics of the holder, again and again, and asks from 200 more. Nobody
// notices: not the election at 10 ms, not the kubelet, which asks as root, and not the memory. The callers want the processor as much
// as any program, so the daemons are real-time: only what stops a real-time thread of the machine is not theirs.
func TestMetricsListenerWithstandsALocalUser(t *testing.T) {
	const connections, busy = 6000, 200
	listener := netip.MustParseAddrPort("127.0.0.1:9647")
	g := open(t, trial.Config{
		Product:  trial.Keepvip{Metrics: listener.String(), Args: []string{"--realtime"}},
		Interval: 10 * time.Millisecond,
	})
	holder := settled(t, g)
	before, err := trial.Keepvip{}.Status(holder)
	require.NoError(t, err)
	m, err := g.Lab.Measure(lab.MeasureConfig{})
	require.NoError(t, err)
	at := m.Mark("flood")
	callers, err := holder.StartCallers(lab.CallersConfig{
		Network: "tcp", Address: listener.String(), User: 1000, Equal: true, Idle: connections, Busy: busy, Say: "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n",
	})
	require.NoError(t, err)
	asked, answered := 0, 0
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); asked++ {
		if status, err := holder.Ask(listener, "/livez", time.Second); err == nil && status == "200" {
			answered++
		}
		settleFor(100 * time.Millisecond)
	}
	opened := callers.Stop()
	r := m.Stop()
	rss, err := g.Daemon(holder).PeakRSS()
	require.NoError(t, err)
	t.Logf("%d connections, %d of %d probes answered, %.1f MiB at most, real-time threads late by %s ms", opened, answered, asked,
		float64(rss)/(1<<20), lab.Milliseconds(r.MaxStall()))
	assert.Greater(t, opened, connections)
	assert.Equal(t, asked, answered, "probes of the kubelet")
	assert.Less(t, rss, int64(40<<20))
	after, err := trial.Keepvip{}.Status(holder)
	require.NoError(t, err)
	if r.MaxStall() < 10*time.Millisecond {
		assert.Less(t, after.VIPs[0].Lateness, 0.020, "seconds by which a timer was late: two intervals")
		assert.Zero(t, r.Takeovers(lab.VIP4, at))
		assert.Equal(t, before.VIPs[0].State, after.VIPs[0].State)
	}
}
