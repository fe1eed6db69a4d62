package daemon

import (
	"bytes"
	"errors"
	"log/slog"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

func TestReloadChangesTheLogLevel(t *testing.T) {
	const vips = "vips: [{addresses: [10.77.0.100], check: none}]\n"
	r := newReloading(t, vips)
	var log bytes.Buffer
	r.log = slog.New(slog.NewTextHandler(&log, nil))
	level := config.LogInfo
	r.level.set = func(l config.LogLevel) { level = l }
	r.write(t, vips+"log: {level: debug}\n")
	done, err := r.reload(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"log.level"}, done.Live)
	assert.Equal(t, config.LogDebug, level)

	r.write(t, vips+"log: {level: loud}\n")
	_, err = r.reload(t.Context())
	require.Error(t, err)
	assert.Equal(t, config.LogDebug, level)
	assert.Contains(t, log.String(), `level=ERROR msg="configuration not reloaded; the old one stays in force" error=`, "whoever asked")
}

func TestIntroducedNamesAddressesInterfaceAndVRID(t *testing.T) {
	addresses := func(n int) (out []netip.Prefix) {
		for i := range n {
			out = append(out, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 32))
		}
		return out
	}
	all := []instance.Config{
		{VIP: config.VIP{Name: "api", Addresses: addresses(1), Election: config.ElectionVRRP, VRRP: config.VRRP{ID: 51}}, Place: func() (instance.Place, error) { return instance.Place{Name: "eth0"}, nil }},
		{VIP: config.VIP{Name: "web", Addresses: addresses(5)}, Place: func() (instance.Place, error) { return instance.Place{}, errors.New("no interface has it") }},
	}
	assert.Equal(t, []string{
		"api 10.0.0.0/32 on eth0, VRID 51",
		"web 10.0.0.0/32 10.0.0.1/32 10.0.0.2/32 2 more, no interface has it",
	}, introduced(all))
}

func TestRunningConfigMarksWhatDiffersOnDisk(t *testing.T) {
	const vips = "vips: [{addresses: [10.77.0.100], check: none, priority: "
	r := newReloading(t, vips+"100}]\n")
	r.write(t, vips+"120}]\nmetrics: 127.0.0.1:1\n")
	marked := map[string]RunningValue{}
	doc, ok := r.running().(RunningConfig)
	require.True(t, ok)
	assert.Empty(t, doc.Error)
	for _, v := range doc.Values {
		if v.OnDisk != nil {
			marked[v.Key] = v
		}
	}
	require.Len(t, marked, 2)
	assert.Equal(t, "100", marked["vips[0].priority"].Value)
	assert.Equal(t, "120", *marked["vips[0].priority"].OnDisk)
	assert.False(t, marked["vips[0].priority"].Restart)
	assert.True(t, marked["metrics.address"].Restart)

	r.write(t, vips+"much}]\n")
	doc, _ = r.running().(RunningConfig)
	assert.Contains(t, doc.Error, "much")
	assert.NotEmpty(t, doc.Values)
}

func TestRunningConfigMarksAddressesThatAreInOnePlaceAlone(t *testing.T) {
	const one, two = "vips:\n- {name: a, addresses: [10.77.0.100], check: none}\n", "- {name: b, addresses: [10.77.0.101], check: none}\n"
	for want, files := range map[string][2]string{onlyOnDisk: {one, one + two}, onlyRunning: {one + two, one}} {
		r := newReloading(t, files[0])
		r.write(t, files[1])
		doc, ok := r.running().(RunningConfig)
		require.True(t, ok)
		marked := map[string]RunningValue{}
		for _, v := range doc.Values {
			if v.Only != "" || v.OnDisk != nil {
				marked[v.Key] = v
			}
		}
		name := marked["vips[1].name"]
		assert.Equal(t, want, name.Only)
		assert.Equal(t, want == onlyRunning, name.Value == "b")
		assert.Equal(t, want == onlyOnDisk, name.OnDisk != nil && *name.OnDisk == "b")
		assert.NotContains(t, marked, "vips[0].name")
	}
}

// Who may only look must not keep whoever may change something from it: not by a file system that hangs either.
func TestReloadWaitsForNobodyWhoLooksAtTheConfiguration(t *testing.T) {
	const vips = "vips: [{addresses: [10.77.0.100], check: none, priority: "
	r := newReloading(t, vips+"100}]\n")
	load, asked, hangs := r.opts.Load, make(chan struct{}), make(chan struct{})
	r.opts.Load = func() (*config.Config, error) { close(asked); <-hangs; return load() }
	shown := make(chan any, 1)
	go func() { shown <- r.running() }()
	<-asked
	r.opts.Load = load
	r.write(t, vips+"120}]\n")
	_, err := r.reload(t.Context())
	require.NoError(t, err)
	close(hangs)
	doc, _ := (<-shown).(RunningConfig)
	assert.Empty(t, doc.Error)
}
