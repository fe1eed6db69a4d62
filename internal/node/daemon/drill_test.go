package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/node/control"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

func TestMetricsOfDrills(t *testing.T) {
	var d drills
	assert.Empty(t, gathered(t, drillCollector{&d}))
	at := time.Unix(1_700_000_000, 0)
	d.note("a", drillResult{kind: "stop", result: DrillOver, outage: 200 * time.Millisecond, measured: true, at: at})
	d.note("b", drillResult{kind: "check", result: drillRefused, at: at})
	assert.Equal(t, map[string]float64{
		"keepvip_drill_last_outage_seconds,drill=stop,vip=a":         0.2,
		"keepvip_drill_last_timestamp_seconds,drill=stop,vip=a":      1.7e9,
		"keepvip_drill_last_result,drill=stop,result=over,vip=a":     1,
		"keepvip_drill_last_timestamp_seconds,drill=check,vip=b":     1.7e9,
		"keepvip_drill_last_result,drill=check,result=refused,vip=b": 1,
	}, gathered(t, drillCollector{&d}))
}

func TestResultOfADrillThatNobodyHasMeasured(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	failed := errors.New("failed")
	assert.Equal(t, DrillUnmeasured, drillResultOf(t.Context(), instance.Drilled{Begun: true}, nil))
	assert.Equal(t, drillFailed, drillResultOf(t.Context(), instance.Drilled{Begun: true}, failed))
	assert.Equal(t, drillRefused, drillResultOf(t.Context(), instance.Drilled{}, failed))
	assert.Equal(t, drillInterrupted, drillResultOf(gone, instance.Drilled{Begun: true}, failed))
	ended := fmt.Errorf("%w: superseded", instance.ErrDrillEnded)
	assert.Equal(t, drillInterrupted, drillResultOf(t.Context(), instance.Drilled{Begun: true}, ended), "nobody has failed to take the address")
}

// A metric's label that is no text ends the process.
func TestDrillsOfUnknownNamesAndKindsAreNoMetrics(t *testing.T) {
	d := &drills{set: instance.New(slog.New(slog.DiscardHandler))}
	_, err := d.run(t.Context(), "\xff", "stop", 0, true)
	require.ErrorIs(t, err, instance.ErrNoInstance)
	require.ErrorContains(t, d.seen("a", control.DrillSeen{Kind: "\xff", Result: DrillOK}), `drill "\xff"`)
	assert.Empty(t, gathered(t, drillCollector{d}))
}

// What is documented for the default settings.
func TestOutagesOfDrills(t *testing.T) {
	v := config.VIP{VRRP: config.VRRP{AdvertisementInterval: 100 * time.Millisecond, DownTimerAdverts: 3}}
	const ms = time.Millisecond
	assert.Equal(t, instance.Outages{Passed: 20 * ms, Lapsed: 142500 * time.Microsecond}, outagesByVRRP(v, 9646, 290*ms))
	assert.Equal(t, 142500*time.Microsecond, outagesByVRRP(v, 0, 290*ms).Passed, "plain VRRP")
	assert.Equal(t, instance.Outages{Passed: 100 * ms, Lapsed: 660 * ms}, outagesByRaft(500*ms, 440*ms))
}

func TestPortOfADrillIsThatOfTheCheck(t *testing.T) {
	for check, want := range map[string]uint16{
		"https://127.0.0.1:6443/livez": 6443, "tcp://127.0.0.1:8443": 8443, "https://127.0.0.1/": 0, "none": 0,
	} {
		v := config.VIP{Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.100/32")}, Check: config.Check{URL: check}}
		assert.Equal(t, want, v.Port(), check)
	}
}
