package daemon

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/node/hook"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// hookStates are the words of programs for what an instance reports.
var hookStates = map[instance.Standing]config.HookState{
	instance.Holding: config.HookMaster, instance.Ready: config.HookBackup, instance.Unable: config.HookFault, instance.Stopped: config.HookStop,
}

// changeOf is what programs are told of v.
func changeOf(v config.VIP, r instance.Report) hook.Change {
	c := hook.Change{State: hookStates[r.Standing], Priority: r.Priority, Reason: r.Reason, Holder: r.Holder, Since: r.Since}
	if v.VRRP.Owner {
		c.Priority = 255
	}
	return c
}

// hookEntries are whom to tell about what.
func hookEntries(cfg *config.Config) []hook.Entry {
	var out []hook.Entry
	for _, v := range cfg.VIPs {
		e := hook.Entry{Name: v.Name, Told: v.KeepalivedName, Group: v.Group, GroupTold: v.KeepalivedGroupName}
		for _, h := range v.Hooks {
			h.User = "" // a new name of the same user makes no new program
			if len(h.States) == 0 {
				h.States = nil // an empty list says what none says
			}
			e.Programs = append(e.Programs, hook.Program{Hook: h})
		}
		out = append(out, e)
	}
	return out
}

// leaving are the entries that a reload ends, and what their end is called: nothing, where they begin anew.
func leaving(done Reloaded) map[string]config.HookState {
	out := map[string]config.HookState{}
	for _, name := range done.Removed {
		out[name] = config.HookDeleted
	}
	for _, name := range done.Recreated {
		out[name] = ""
	}
	return out
}

// hookCollector turns what has become of the hooks into metrics; there are none where no program has run.
type hookCollector struct{ hooks *hook.Hooks }

var _ prometheus.Collector = hookCollector{}

var (
	descHookRuns  = prometheus.NewDesc("keepvip_hook_runs_total", "Runs of hooks, by how they ended: ok, failed, timeout, output (too much of it), not started, or skipped for a newer state.", []string{"vip", "result"}, nil)
	descFIFOLines = prometheus.NewDesc("keepvip_notify_fifo_lines_total", "Lines for the notify FIFO: written, or dropped because nobody reads.", []string{"result"}, nil)
)

// Describe implements prometheus.Collector.
func (c hookCollector) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// Collect implements prometheus.Collector.
func (c hookCollector) Collect(ch chan<- prometheus.Metric) {
	for vip, counts := range c.hooks.Counts() {
		for result, n := range counts {
			ch <- prometheus.MustNewConstMetric(descHookRuns, prometheus.CounterValue, float64(n), vip, string(result))
		}
	}
	if s := c.hooks.Status(); s != nil && s.FIFO != nil {
		ch <- prometheus.MustNewConstMetric(descFIFOLines, prometheus.CounterValue, float64(s.FIFO.Written), "written")
		ch <- prometheus.MustNewConstMetric(descFIFOLines, prometheus.CounterValue, float64(s.FIFO.Dropped), "dropped")
	}
}
