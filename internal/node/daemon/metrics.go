package daemon

import (
	"net/netip"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/keepvip/keepvip/internal/node/metrics"
	"github.com/keepvip/keepvip/internal/node/reloads"
	"github.com/keepvip/keepvip/internal/node/report"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// told is what Prometheus and the kubelet are told of this process.
func (d *Daemon) told() metrics.Process {
	all := []prometheus.Collector{
		instance.NewCollector(d.set),
		raftCollector{d.build.raft},
		hookCollector{d.hooks},
		drillCollector{&d.drills},
		reloads.Collector{Record: &d.reloads},
		metrics.Listeners(d.listeners),
		d.build.timings.takeovers, d.build.timings.aways, d.build.timings.probes,
	}
	if d.cfg.Metrics.KeepalivedNames {
		all = append(all, keepalivedCollector{func() report.Node { return keepalivedReport(d.settled(), d.set.Status()) }})
	}
	return metrics.Process{
		Version: d.opts.Version, Live: d.set.Live, Ready: d.set.Ready, Collectors: all, Status: d.status, History: d.history, Log: d.log,
		Virtual: func(a netip.Addr) bool { return d.host.seen.now().isVirtual(a) },
	}
}

// lookForAddress says when nobody will reach the listener of an option. The address may come later.
func (d *Daemon) lookForAddress(option, address string) {
	at, err := netip.ParseAddrPort(address)
	if err != nil || at.Addr().IsLoopback() || at.Addr().IsUnspecified() || d.host.seen.now().has(at.Addr()) {
		return
	}
	d.log.Warn("this node does not have the address of a listener now: no other host reaches it until it has", option, address)
}
