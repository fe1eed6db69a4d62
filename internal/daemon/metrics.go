package daemon

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/keepvip/keepvip/internal/control"
	"github.com/keepvip/keepvip/internal/instance"
	"github.com/keepvip/keepvip/internal/link"
)

func (d *Daemon) probes() control.Probes {
	reg := prometheus.NewRegistry()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "keepvip_build_info", Help: "1, with the version.", ConstLabels: prometheus.Labels{"version": d.opts.Version},
	})
	info.Set(1)
	reg.MustRegister(instance.NewCollector(d.set), raftCollector{d.build.raft}, hookCollector{d.hooks}, configCollector{d.shown.Load}, info,
		d.build.timings.takeovers, d.build.timings.probes, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return control.Probes{Live: d.set.Live, Ready: d.set.Ready, Metrics: promhttp.HandlerFor(reg, promhttp.HandlerOpts{})}
}

// ownerBy names the user of this host at the other end of a connection; "" for another host.
func ownerBy(owners *link.Owners) func(from, to netip.AddrPort) (string, error) {
	return func(from, to netip.AddrPort) (string, error) {
		uid, here, err := owners.Owner(from, to)
		switch {
		case errors.Is(err, link.ErrSocketClosed):
			return "", err
		case err != nil || !here: // a kernel that does not tell must not cost a probe
			return "", nil
		}
		return fmt.Sprintf("user %d", uid), nil
	}
}
