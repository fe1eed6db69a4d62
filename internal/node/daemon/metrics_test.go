package daemon

import (
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/node/reloads"
	"github.com/keepvip/keepvip/internal/node/report"
)

// gathered is each series of a collector by its name and labels: "name{k=v,...}". A histogram has the count of what it has seen.
func gathered(t *testing.T, c prometheus.Collector) map[string]float64 {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	require.NoError(t, reg.Register(c))
	families, err := reg.Gather()
	require.NoError(t, err)
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += "," + l.GetName() + "=" + l.GetValue()
			}
			out[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return out
}

func TestMetricsOfReloads(t *testing.T) {
	const good = "vips:\n- {name: a, addresses: [10.77.0.100], check: none}\n"
	r := newReloading(t, good)
	r.reloads.Loaded(reloads.SourceOf(r.cfg))
	c := reloads.Collector{Record: &r.reloads}
	first := gathered(t, c)
	assert.Equal(t, []float64{1, 0, 0}, []float64{
		first["keepvip_config_last_reload_successful"], first["keepvip_config_reloads_total,result=taken"], first["keepvip_config_reloads_total,result=refused"],
	})
	assert.InDelta(t, time.Now().Unix(), first["keepvip_config_loaded_timestamp_seconds"], 60)
	hash := "keepvip_config_info,hash=" + reloads.SourceOf(r.cfg).Hash
	assert.Contains(t, first, hash)

	r.write(t, "vips: nonsense\n")
	_, err := r.reload(t.Context())
	require.Error(t, err)
	refused := gathered(t, c)
	assert.Zero(t, refused["keepvip_config_last_reload_successful"])
	assert.Equal(t, first["keepvip_config_loaded_timestamp_seconds"], refused["keepvip_config_loaded_timestamp_seconds"])
	assert.InDelta(t, time.Now().Unix(), refused["keepvip_config_refused_timestamp_seconds"], 60)
	assert.Contains(t, refused, hash, "what is in force is what it was")

	r.write(t, good+"- {name: b, addresses: [10.77.0.101], check: none, vrrp: {id: 9}}\n")
	_, err = r.reload(t.Context())
	require.NoError(t, err)
	taken := gathered(t, c)
	assert.Equal(t, []float64{1, 1, 1}, []float64{
		taken["keepvip_config_last_reload_successful"], taken["keepvip_config_reloads_total,result=taken"], taken["keepvip_config_reloads_total,result=refused"],
	})
	assert.NotContains(t, taken, hash)
	assert.NotContains(t, taken, "keepvip_config_refused_timestamp_seconds")
}

// 255 entries have the histograms together.
func TestHistogramsAreOfTheProcess(t *testing.T) {
	timings := newTimings()
	for range 255 {
		timings.takeover(time.Millisecond)
		timings.probe(time.Millisecond)
		timings.away(time.Millisecond)
	}
	assert.Equal(t, map[string]float64{"keepvip_takeover_duration_seconds": 255}, gathered(t, timings.takeovers))
	assert.Equal(t, map[string]float64{"keepvip_address_away_seconds": 255}, gathered(t, timings.aways))
	assert.Equal(t, map[string]float64{"keepvip_check_probe_duration_seconds": 255}, gathered(t, timings.probes))
}

func TestMetricsListenerIsClosedAtVirtualAddresses(t *testing.T) {
	r := newReloading(t, "vips:\n- {name: a, addresses: [10.77.0.100], check: none}\nmetrics: {address: \"10.77.0.12:9645\"}\n")
	for address, want := range map[string][2]bool{"10.77.0.100": {true, false}, "10.77.0.11": {false, true}, "10.77.0.12": {false, false}} {
		a := netip.MustParseAddr(address)
		assert.Equal(t, want, [2]bool{r.told().Virtual(a), r.host.seen.now().has(a)}, address)
	}
	var log strings.Builder
	r.log = slog.New(slog.NewTextHandler(&log, nil))
	r.lookForAddress("metrics.address", r.cfg.Metrics.Address)
	assert.Contains(t, log.String(), "metrics.address=10.77.0.12:9645")
}

func TestKeepalivedNames(t *testing.T) {
	at := func(s string) netip.Prefix { return netip.MustParsePrefix(s) }
	node := report.Node{Instances: []report.Instance{
		{
			Name: "VI_1", Interface: "eth0", VRID: 51, State: report.Master, Addresses: []netip.Prefix{at("10.77.0.100/24")}, Excluded: []netip.Prefix{at("fd77::100/64")},
			Stats: report.Stats{
				Received: 1, Sent: 2, BecameMaster: 3, ReleasedMaster: 4, Length: 5, TTL: 6, InvalidType: 7, AdvertInterval: 8, AddressList: 9,
				AuthMismatch: 10, AuthFailure: 11, ZeroReceived: 12, ZeroSent: 13,
			},
			Scripts: []report.Script{{Name: "chk", Good: true}, {Name: "bad"}, {Name: "new", Unknown: true}},
		},
		{Name: "VI_2", Interface: "eth1", VRID: 52, State: report.Fault, Addresses: []netip.Prefix{at("10.78.0.100/32")}, Scripts: []report.Script{{Name: "chk", Good: true}}},
	}}
	got := gathered(t, keepalivedCollector{func() report.Node { return node }})
	const first = ",iname=VI_1,intf=eth0,vrid=51"
	for name, want := range map[string]float64{
		"keepalived_up": 1, "keepalived_advertisements_received_total" + first: 1, "keepalived_advertisements_sent_total" + first: 2,
		"keepalived_become_master_total" + first: 3, "keepalived_release_master_total" + first: 4, "keepalived_packet_length_errors_total" + first: 5,
		"keepalived_ip_ttl_errors_total" + first: 6, "keepalived_invalid_type_received_total" + first: 7, "keepalived_advertisements_interval_errors_total" + first: 8,
		"keepalived_address_list_errors_total" + first: 9, "keepalived_authentication_mismatch_total" + first: 10, "keepalived_authentication_failure_total" + first: 11,
		"keepalived_priority_zero_received_total" + first: 12, "keepalived_priority_zero_sent_total" + first: 13,
		"keepalived_vrrp_state,iname=VI_1,intf=eth0,ip_address=10.77.0.100,vrid=51":        2,
		"keepalived_vrrp_excluded_state,iname=VI_1,intf=eth0,ip_address=fd77::100,vrid=51": 2,
		"keepalived_vrrp_state,iname=VI_2,intf=eth1,ip_address=10.78.0.100,vrid=52":        3,
		"keepalived_script_status,name=chk":                                                1, "keepalived_script_status,name=bad": 0,
	} {
		v, ok := got[name]
		assert.True(t, ok, name)
		assert.Equal(t, want, v, name)
	}
	assert.NotContains(t, got, "keepalived_script_status,name=new")
	assert.Len(t, got, 1+2*13+3+2)
}
