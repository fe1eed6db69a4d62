package metrics

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/netip"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/node/control"
)

// Process is what there is to tell of one.
type Process struct {
	Version string
	// Live and Ready are nil errors while it works, and while it does what it is there for. They are called from several goroutines.
	Live, Ready func() error
	Collectors  []prometheus.Collector // those of the version, the Go runtime and the operating system's process are added
	Virtual     func(netip.Addr) bool  // addresses of this host at which nobody is answered; nil: none
	// Status and History are those of the control socket; nil: there is none.
	Status  func() any
	History func(io.Writer) error
	Log     *slog.Logger
}

// listener answers at the address that a configuration names.
type listener struct {
	*control.Listener
	owners *link.Owners // nil: the users of this host are one
}

// Listen opens the listener, which Serve has to follow.
func Listen(cfg config.Metrics, p Process) (*listener, error) {
	out := &listener{}
	probes := control.Probes{Live: p.Live, Ready: p.Ready, Metrics: p.handler(), Status: p.Status, History: p.History, Outside: p.outside(cfg)}
	if owners, err := link.OpenOwners(); err == nil {
		out.owners, probes.Owner = owners, owners.Name
	}
	ln, err := control.Listen(cfg.Address, probes)
	if err != nil {
		return nil, errors.Join(err, out.close())
	}
	out.Listener = ln
	return out, nil
}

// Serve answers until ctx ends.
func (l *listener) Serve(ctx context.Context) error {
	return errors.Join(l.Listener.Serve(ctx), l.close())
}

func (l *listener) close() error {
	if l.owners == nil {
		return nil
	}
	return l.owners.Close()
}

// handler serves what can be told. Two series that are one, as of two entries with one keepalivedName and VRID, cost no more than themselves.
func (p Process) handler() http.Handler {
	reg := prometheus.NewRegistry()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "keepvip_build_info", Help: "1, with the version.", ConstLabels: prometheus.Labels{"version": p.Version},
	})
	info.Set(1)
	reg.MustRegister(info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	reg.MustRegister(p.Collectors...)
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, EnableOpenMetrics: true})
}

// outside is how other hosts are answered.
func (p Process) outside(m config.Metrics) control.Outside {
	out := control.Outside{Certificate: m.Certificate, PrivateKey: m.PrivateKey, Refuse: p.Virtual, Page: m.Page, Log: p.Log}
	if m.TokenFile != "" {
		out.Token = func() (string, error) { return config.LoadToken(m.TokenFile) }
	}
	return out
}
