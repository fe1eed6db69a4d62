package daemon

import (
	"net/netip"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/node/hook"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

func TestHookEntries(t *testing.T) {
	cfg := &config.Config{VIPs: []config.VIP{
		{Name: "a", KeepalivedName: "VI_1", Group: "g", KeepalivedGroupName: "VG_1", Hooks: []config.Hook{
			{Command: []string{"/a", "b"}, User: "u", UID: 1, GID: 2, States: []config.HookState{config.HookMaster, config.HookDeleted}, Type: config.HookGroup, Arguments: true, Timeout: time.Second},
		}},
		{Name: "b"},
	}}
	assert.Equal(t, []hook.Entry{
		{Name: "a", Told: "VI_1", Group: "g", GroupTold: "VG_1", Programs: []hook.Program{
			{Hook: config.Hook{Command: []string{"/a", "b"}, UID: 1, GID: 2, States: []config.HookState{config.HookMaster, config.HookDeleted}, Type: config.HookGroup, Arguments: true, Timeout: time.Second}},
		}},
		{Name: "b"},
	}, hookEntries(cfg))
}

// Each standing of an instance has a word of the configuration.
func TestHookWords(t *testing.T) {
	for standing, want := range map[instance.Standing]config.HookState{
		0: "", instance.Holding: config.HookMaster, instance.Ready: config.HookBackup, instance.Unable: config.HookFault, instance.Stopped: config.HookStop,
	} {
		r := instance.Report{Standing: standing, Priority: 98, Reason: "r", Holder: netip.MustParseAddr("10.77.0.11"), Since: time.Unix(1, 0)}
		want := hook.Change{State: want, Priority: 98, Reason: "r", Holder: r.Holder, Since: r.Since}
		assert.Equal(t, want, changeOf(config.VIP{}, r))
	}
	assert.Equal(t, uint8(255), changeOf(config.VIP{VRRP: config.VRRP{Owner: true}}, instance.Report{}).Priority)
}

func TestHooksOverAReload(t *testing.T) {
	const vip = "vips:\n- {name: a, addresses: [10.77.0.100], check: none}\n"
	r := newReloading(t, "notifyFIFO: {path: DIR/notify}\n"+vip+"- {name: b, addresses: [10.77.0.101], check: none, vrrp: {id: 9}}\n")
	assert.Nil(t, r.hooks.Status())
	r.hooks.Open(r.cfg.FIFO)
	defer r.hooks.Close()
	r.hooks.Use(hookEntries(r.cfg), nil)
	for _, name := range []string{"a", "b"} {
		r.hooks.Report(name, hook.Change{State: config.HookMaster})
	}
	r.write(t, "notifyFIFO: {path: DIR/other}\n"+vip)
	done, err := r.reload(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"notifyFIFO.path"}, done.Restart)
	r.hooks.Report("b", hook.Change{State: config.HookStop})
	assert.Eventually(t, func() bool { return r.hooks.Status().FIFO.Written == 3 }, 5*time.Second, time.Millisecond, "MASTER, MASTER, DELETED")
	assert.Equal(t, map[string]config.HookState{"x": config.HookDeleted, "y": ""}, leaving(Reloaded{Removed: []string{"x"}, Recreated: []string{"y"}}))
	reg := prometheus.NewRegistry()
	reg.MustRegister(hookCollector{r.hooks})
	families, err := reg.Gather()
	require.NoError(t, err)
	require.Len(t, families, 1)
	assert.Equal(t, "keepvip_notify_fifo_lines_total", families[0].GetName())
	assert.Len(t, families[0].GetMetric(), 2, "written, and dropped")
}

func TestHookWithAnEmptyListOfStatesIsOneWithoutAList(t *testing.T) {
	with := func(states []config.HookState) []hook.Entry {
		return hookEntries(&config.Config{VIPs: []config.VIP{{Hooks: []config.Hook{{States: states}}}}})
	}
	assert.Equal(t, with(nil), with([]config.HookState{}), "a reload that writes it otherwise runs nothing again")
}
