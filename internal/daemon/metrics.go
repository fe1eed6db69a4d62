package daemon

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/control"
	"github.com/keepvip/keepvip/internal/instance"
	"github.com/keepvip/keepvip/internal/keepalived/report"
	"github.com/keepvip/keepvip/internal/link"
)

func (d *Daemon) probes() control.Probes {
	reg := prometheus.NewRegistry()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "keepvip_build_info", Help: "1, with the version.", ConstLabels: prometheus.Labels{"version": d.opts.Version},
	})
	info.Set(1)
	reg.MustRegister(instance.NewCollector(d.set), raftCollector{d.build.raft}, hookCollector{d.hooks}, drillCollector{&d.drills}, configCollector{d.shown.Load}, info,
		d.build.timings.takeovers, d.build.timings.aways, d.build.timings.probes, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if d.cfg.Metrics.KeepalivedNames {
		reg.MustRegister(keepalivedCollector{func() report.Node {
			d.mu.Lock()
			cfg := d.cfg
			d.mu.Unlock()
			return keepalivedReport(cfg, d.set.Status())
		}})
	}
	return control.Probes{
		Live: d.set.Live, Ready: d.set.Ready, Metrics: handlerOf(reg), Outside: d.outside(d.cfg.Metrics),
	}
}

// handlerOf serves what can be told. Two series that are one, as of two entries with one keepalivedName and VRID, cost no more than themselves.
func handlerOf(reg *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// outside is how other hosts are answered.
func (d *Daemon) outside(m config.Metrics) control.Outside {
	out := control.Outside{Certificate: m.Certificate, PrivateKey: m.PrivateKey, Refuse: d.host.isVirtual, Log: d.log}
	if m.TokenFile != "" {
		out.Token = func() (string, error) { return config.LoadToken(m.TokenFile) }
	}
	return out
}

// lookForAddress says when nobody will reach the listener of an option. The address may come later.
func (d *Daemon) lookForAddress(option, address string) {
	at, err := netip.ParseAddrPort(address)
	if err != nil || at.Addr().IsLoopback() || at.Addr().IsUnspecified() || d.host.has(at.Addr()) {
		return
	}
	d.log.Warn("this node does not have the address of a listener now: no other host reaches it until it has", option, address)
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
