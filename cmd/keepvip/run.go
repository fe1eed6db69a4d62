package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/agent"
	"github.com/keepvip/keepvip/internal/alarm"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/control"
	"github.com/keepvip/keepvip/internal/link"
	"github.com/keepvip/keepvip/internal/singleton"
	"github.com/keepvip/keepvip/internal/state"
)

// gcPercent trades processor time, of which the daemon hardly uses any on garbage, for memory, which every node gives up.
const gcPercent = 40

func newRun() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Take part in the election and hold the address when elected",
		Long: "Takes part in the election on this node and holds the address when elected, until SIGTERM or SIGINT.\n" +
			"SIGHUP reads the configuration again. It needs the capabilities NET_ADMIN and NET_RAW.",
		Example: "  keepvip run --vip 10.0.0.100\n  keepvip run --config /etc/keepvip/keepvip.yaml",
		Args:    noArguments,
	}
	flags := bindConfig(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := flags.load()
		if err != nil {
			return err
		}
		log := newLogger(cmd.ErrOrStderr(), cfg.Log)
		for _, w := range cfg.Warnings {
			log.Warn(w)
		}
		d, err := prepare(cmd.Context(), flags, cfg, log)
		if err != nil {
			return err
		}
		if os.Getenv("GOGC") == "" {
			debug.SetGCPercent(gcPercent)
		}
		limitProcessors(cfg)
		if cfg.Realtime {
			goRealtime(log)
		}
		return failed(d.run(cmd.Context()))
	}
	return cmd
}

// daemon is one running keepvip.
type daemon struct {
	flags *configFlags
	log   *slog.Logger
	links *link.Handle
	clock *alarm.Clock
	host  *host
	agent *agent.Agent
	build *builder
	auth  *auth
	lock  *singleton.Lock

	mu  sync.Mutex // guards cfg: one reload at a time
	cfg *config.Config
}

// endTime is how long a keepvip that ran here before may take to end: a pod that is replaced can overlap with the next one.
const endTime = 3 * time.Second

// alone makes this process the only keepvip of its network namespace.
func alone(ctx context.Context, socket string, log *slog.Logger) (*singleton.Lock, error) {
	lock, err := singleton.Wait(ctx, socket, endTime, func(r *singleton.RunningError) {
		log.Info("another keepvip runs here; its end is waited for", "pid", r.PID, "socket", r.Socket, "limit", endTime)
	})
	if err == nil && lock.Doubt != "" {
		log.Warn("what keeps a second keepvip from running here is only half held", "reason", lock.Doubt)
	}
	return lock, err
}

// prepare checks everything that can be checked without changing the host. Its errors are the
// configuration's, a privilege that is missing, or another keepvip.
func prepare(ctx context.Context, flags *configFlags, cfg *config.Config, log *slog.Logger) (*daemon, error) {
	if err := checkCapabilities(); err != nil {
		return nil, failed(err)
	}
	auth, err := newAuth()
	if err != nil {
		return nil, err
	}
	holds, err := state.Open(cfg.StateDir)
	if err != nil {
		return nil, failed(err)
	}
	lock, err := alone(ctx, cfg.Socket, log) // before the host is looked at, which another one may be changing
	if err != nil {
		return nil, failed(err)
	}
	d, err := assemble(flags, cfg, auth, store{holds}, log)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	d.lock = lock
	return d, nil
}

// assemble joins the parts of a daemon, and looks at the host for the first time.
func assemble(flags *configFlags, cfg *config.Config, auth *auth, holds agent.Store, log *slog.Logger) (*daemon, error) {
	links, err := link.Open(log)
	if err != nil {
		return nil, failed(err)
	}
	h := newHost(links, log)
	h.setVirtual(virtualAddresses(cfg))
	if _, err := h.refresh(); err != nil {
		return nil, failed(errors.Join(err, links.Close()))
	}
	clock, err := alarm.Open()
	if err != nil {
		log.Debug("an idle process wakes up more often", "error", err) // by package time's timers
	}
	d := compose(flags, cfg, auth, h, clock, log)
	d.agent.Keep(holds)
	d.links = links
	use, err := d.prepare(cfg)
	if err != nil {
		return nil, errors.Join(err, clock.Close(), links.Close())
	}
	use()
	return d, nil
}

// compose makes a daemon of its parts. It has no keys and no instances yet.
func compose(flags *configFlags, cfg *config.Config, auth *auth, h *host, clock *alarm.Clock, log *slog.Logger) *daemon {
	a := agent.New(h, log)
	a.Use(clock)
	return &daemon{
		flags: flags, cfg: cfg, log: log, auth: auth, clock: clock, host: h, agent: a,
		build: &builder{
			hubs: newHubs(auth.Auth, log), kin: newKin(auth.members, cfg.Port, log), fences: newFences(h.leftovers), near: h.neighbours, log: log,
			rafts: newRafts(h, clock, log),
		},
	}
}

func (d *daemon) run(ctx context.Context) error {
	defer d.lock.Close()
	defer d.links.Close()
	defer d.clock.Close()
	defer d.host.ears.close()
	server, err := control.Open(d.cfg.Socket, control.Backend{
		Status: d.status, Announce: d.announce, Reload: d.reload,
		Handover: d.handover, Drain: d.drain, Hold: d.holdBack, Resume: d.agent.Resume, Member: d.member, Asked: d.asked,
	})
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, unix.SIGTERM, unix.SIGINT)
	defer stop()
	// The listeners outlive the election, so that its end can be watched.
	outer, close := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close()
	d.serve(outer, &wg, server.Serve)
	d.serve(outer, &wg, d.lock.Serve)
	if d.cfg.Metrics != "" {
		probes := d.probes()
		if owners, err := link.OpenOwners(); err == nil { // without, the users of this host are one
			defer owners.Close()
			probes.Owner = ownerBy(owners)
		}
		listener, err := control.Listen(d.cfg.Metrics, probes)
		if err != nil {
			return err
		}
		d.serve(outer, &wg, listener.Serve)
	}
	return d.hold(ctx, outer, &wg)
}

// serve runs one listener until ctx ends.
func (d *daemon) serve(ctx context.Context, wg *sync.WaitGroup, run func(context.Context) error) {
	wg.Go(func() {
		if err := run(ctx); err != nil {
			d.log.Error("a listener ended", "error", err)
		}
	})
}

// hold runs the agent until ctx ends.
func (d *daemon) hold(ctx, outer context.Context, wg *sync.WaitGroup) error {
	d.build.groups.set(d.cfg.VIPs)
	instances, err := d.instances(d.cfg.VIPs, d.cfg)
	if err != nil {
		return err
	}
	if err := d.host.removeStrays(); err != nil {
		d.log.Warn("an address of an earlier run stays", "error", err)
	}
	d.agent.Apply(agent.Delta{Add: instances})
	wg.Go(func() { d.watch(outer) })
	wg.Go(func() { d.hangups(outer) })
	wg.Go(func() { d.notify(ctx, outer) })
	d.log.Info("started", "version", version, "config", d.cfg.Path, "vips", len(d.cfg.VIPs))
	wg.Go(func() { d.build.rafts.keepTrying(ctx) })
	d.agent.Run(ctx)
	d.build.rafts.close()
	d.log.Info("stopped")
	return nil
}

// instances makes some of the virtual addresses of whole.
func (d *daemon) instances(vips []config.VIP, whole *config.Config) ([]agent.Instance, error) {
	out := make([]agent.Instance, len(vips))
	for i, v := range vips {
		in, err := d.build.instance(v, whole)
		if err != nil {
			return nil, err
		}
		out[i] = in
	}
	return out, nil
}

// watchGap is the least time between two looks at the host: a thousand addresses that are bound at once are a
// thousand events.
const watchGap = 10 * time.Millisecond

// watch follows the host.
func (d *daemon) watch(ctx context.Context) {
	var last time.Time
	err := d.links.Watch(ctx, func() {
		time.Sleep(watchGap - time.Since(last))
		defer func() { last = time.Now() }()
		d.host.binds.wait() // what a listing would see in the middle of it is out of date at once, and listing slows it down
		changed, err := d.host.refresh()
		switch {
		case err != nil:
			d.log.Warn("the host's interfaces cannot be listed", "error", err)
		case changed:
			d.agent.HostChanged()
		}
	})
	if err != nil && ctx.Err() == nil {
		d.log.Error("changes of the host are not seen any more", "error", err)
	}
}

// hangups reloads at each SIGHUP.
func (d *daemon) hangups(ctx context.Context) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, unix.SIGHUP)
	defer signal.Stop(hup)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
			if _, err := d.reload(); err != nil {
				d.log.Error("configuration not reloaded; the old one stays in force", "error", err)
			}
		}
	}
}

func (d *daemon) probes() control.Probes {
	reg := prometheus.NewRegistry()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "keepvip_build_info", Help: "1, with the version.", ConstLabels: prometheus.Labels{"version": version},
	})
	info.Set(1)
	reg.MustRegister(agent.NewCollector(d.agent), raftCollector{d.build.rafts}, info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return control.Probes{Live: d.agent.Live, Ready: d.agent.Ready, Metrics: promhttp.HandlerFor(reg, promhttp.HandlerOpts{})}
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

// asked logs what operators ask for: who did it must not be a riddle afterwards.
func (d *daemon) asked(a control.Asked, err error) {
	log := d.log.With("command", a.Verb, "uid", a.UID, "pid", a.PID)
	if len(a.VIPs) > 0 {
		log = log.With("vips", a.VIPs)
	}
	if err != nil {
		log.Warn("a command failed", "error", err)
		return
	}
	log.Info("a command was carried out")
}

func (d *daemon) announce(names []string) error { return d.agent.Announce(names...) }
