//go:build netns

package netnstests

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// A user without privileges opens 6,000 connections to the metrics of the holder, again and again, and asks from 200 more. Nobody
// notices: not the election, not the kubelet, which asks as root, and not the memory. The callers want the processor as much
// as any program, so the daemons are real-time: only what stops a real-time thread of the machine is not theirs. The bench has the
// figures for advertisements each 10 ms.
func TestMetricsListenerWithstandsALocalUser(t *testing.T) {
	const connections, busy = 6000, 200
	const interval = 100 * time.Millisecond
	const patience, threshold = 2 * time.Second, 2 // timeoutSeconds and the lowest failureThreshold of the manifest's probes
	listener := netip.MustParseAddrPort("127.0.0.1:9647")
	g := open(t, trial.Config{
		Product:  trial.Keepvip{Metrics: listener.String(), Args: []string{"--realtime"}},
		Interval: interval,
	})
	holder := settled(t, g)
	m, err := g.Lab.Measure(lab.MeasureConfig{})
	require.NoError(t, err)
	at := m.Mark("flood")
	callers, err := holder.StartCallers(lab.CallersConfig{
		Network: "tcp", Address: listener.String(), User: 1000, Equal: true, Idle: connections, Busy: busy, Say: "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n",
	})
	require.NoError(t, err)
	asked, answered, missed, failed := 0, 0, 0, ""
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); asked++ {
		status, err := holder.Ask(listener, "/livez", patience)
		if err == nil && status == "200" {
			answered, missed = answered+1, 0
		} else if missed++; missed >= threshold {
			failed = fmt.Sprintf("%d one after the other: %q, %v", missed, status, err)
		}
		settleFor(100 * time.Millisecond)
	}
	opened := callers.Stop()
	r := m.Stop()
	rss, err := g.Daemon(holder).PeakRSS()
	require.NoError(t, err)
	after, err := trial.Keepvip{}.Status(holder)
	require.NoError(t, err)
	t.Logf("%d connections, %d of %d probes answered, %.1f MiB at most, a timer late by %.0f ms", opened, answered, asked,
		float64(rss)/(1<<20), after.VIPs[0].Lateness*1000)
	assert.Empty(t, failed, "the kubelet's probes fail")
	assert.Greater(t, opened, connections)
	assert.Less(t, rss, int64(40<<20))
	assert.LessOrEqual(t, r.Takeovers(lab.VIP4, at), 2*r.BySilence(at), "a takeover from a holder that advertised")
}
