package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/state"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/fence"
	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/kernel/nfttables"
	"github.com/keepvip/keepvip/internal/node/control"
	"github.com/keepvip/keepvip/internal/node/coverage"
	"github.com/keepvip/keepvip/internal/node/history"
	"github.com/keepvip/keepvip/internal/node/hook"
	"github.com/keepvip/keepvip/internal/node/reloads"
	"github.com/keepvip/keepvip/internal/node/replies"
	"github.com/keepvip/keepvip/internal/node/singleton"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/members/subscription"
)

// Options are what a Daemon needs beside the configuration.
type Options struct {
	Load    func() (*config.Config, error) // reads the configuration again, for a reload
	Version string                         // of the program, as status, metrics and the other members show it
	Log     *slog.Logger
	// LogLevel changes the least severe level that Log writes, after a reload; nil: it stays.
	LogLevel func(config.LogLevel)
}

// HostError says that this host, and not the configuration, keeps keepvip from running.
type HostError struct{ Err error }

// Error implements error.
func (e *HostError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *HostError) Unwrap() error { return e.Err }

func onHost(err error) error {
	if err == nil {
		return nil
	}
	return &HostError{Err: err}
}

// Daemon is one running keepvip.
type Daemon struct {
	opts  Options
	log   *slog.Logger
	links *link.Handle
	users *link.Owners // nil: the users of this host are not told apart
	host  *host
	set   *instance.Set
	build *builder
	keys  *keys
	hooks *hook.Hooks
	past  *history.Log
	lock  *singleton.Lock

	drills drills

	reloading sync.Mutex      // one reload at a time; it is taken before mu
	renewed   reloads.Reading // for reloads

	mu         sync.Mutex // guards what follows
	cfg        *config.Config
	departures departures

	inForce atomic.Pointer[config.Config] // cfg, for those who only look
	reloads reloads.Record
	sources reloads.Reading // for those who only look

	level logLevel

	doors     doors
	answers   answers // to them
	listening *listening
	ending    atomic.Bool // the process has been told to end
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

// Open checks everything that can be checked without changing the host. The error is the configuration's, or a *HostError: a
// privilege that is missing, or another keepvip. Run has to follow.
func Open(ctx context.Context, cfg *config.Config, opts Options) (*Daemon, error) {
	if err := checkCapabilities(); err != nil {
		return nil, onHost(err)
	}
	holds, err := state.Open(cfg.StateDir)
	if err != nil {
		return nil, onHost(err)
	}
	lock, err := alone(ctx, cfg.Socket, opts.Log) // before the host is looked at, which another one may be changing
	if err != nil {
		return nil, onHost(err)
	}
	d, err := assemble(cfg, holds, opts)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	d.lock = lock
	return d, nil
}

// assemble joins the parts of a daemon, and looks at the host for the first time.
func assemble(cfg *config.Config, holds *state.Store, opts Options) (*Daemon, error) {
	log := opts.Log
	links, err := link.Open(log)
	if err != nil {
		return nil, onHost(err)
	}
	h := newHost(links, log)
	if h.watch, err = nfttables.OpenWatch(); err != nil {
		log.Warn("changes of nftables by others are not told of; they are looked for twice a second", "error", err)
	}
	h.know(cfg)
	if _, err := h.refresh(); err != nil {
		return nil, onHost(errors.Join(err, links.Close(), h.watch.Close()))
	}
	d := compose(cfg, h, opts)
	d.set.Keep(holds)
	d.links = links
	s, err := loadSecrets(cfg, cfg)
	if err != nil {
		return nil, errors.Join(err, links.Close(), h.watch.Close())
	}
	use, err := d.prepare(cfg, s)
	if err != nil {
		return nil, errors.Join(err, links.Close(), h.watch.Close())
	}
	use()
	d.reloads.Loaded(reloads.SourceOf(cfg))
	return d, nil
}

// compose makes a daemon of its parts. It has no keys and no instances yet.
func compose(cfg *config.Config, h *host, opts Options) *Daemon {
	keys := newKeys()
	log := opts.Log
	keys.followers = subscription.NewServer(cfg.Port, log)
	fences := fence.NewLinks(func(index int) []netip.Addr { return h.seen.now().leftovers(index) }, h.watch)
	fences.Expect(len(cfg.Internal()))
	lines := newLifelines(cfg, keys.members, fences, log)
	hooks, past, set := hook.New(log), history.New(log), instance.New(log)
	d := &Daemon{
		opts: opts, cfg: cfg, log: log, keys: keys, hooks: hooks, past: past, host: h, set: set, drills: drills{set: set},
		build: &builder{
			vrrpSockets: newVRRPSockets(keys.vrrp, func(index int) bool { return h.seen.now().raised(index) }, log), earSockets: &earSockets{links: h.links, log: log}, memberSockets: newMemberSockets(keys.members, cfg.Port, opts.Version, lines, log), fences: fences, near: h.neighbours, log: log,
			host: h, probings: newProbings(), hooks: hooks, past: past, raft: newRaftNode(&h.seen, opts.Version, log), timings: newTimings(),
			coverage: coverage.New(link.Listeners), replies: replies.New(h.links), keyed: keys.enforced,
		},
		sources: reloads.NewReading(), renewed: reloads.NewReading(), departures: departures{},
		level: logLevel{set: opts.LogLevel, log: log, configured: cfg.Log.Level},
	}
	d.answers.fit, d.answers.ending = set.Fit, &d.ending
	d.build.followers, d.build.memberSockets.followers = keys.followers, keys.followers
	d.build.memberSockets.routers = h.links.DefaultRouters
	if users, err := link.OpenOwners(); err == nil { // otherwise all users of this host are one
		d.users = users
	}
	d.doors = d.newDoors()
	d.listening = newListening(log, func(to netip.Addr) netip.Addr { return h.seen.now().ownToward(to, d.inForce.Load().VIPs) })
	d.listening.owner = d.users.Name
	d.inForce.Store(cfg)
	return d
}

// Run takes part until ctx ends, SIGTERM or SIGINT, and leaves nothing behind on the host.
func (d *Daemon) Run(ctx context.Context) error {
	tune(d.cfg, d.log)
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, unix.SIGHUP) // from the beginning: it would end a process that does not wait for it
	defer signal.Stop(hup)
	defer d.lock.Close()
	defer d.links.Close()
	defer d.users.Close()
	defer d.host.watch.Close()
	defer d.host.arp.keep(func(int) bool { return false })
	d.past.Open(d.cfg.StateDir)
	defer d.past.Close()
	if err := d.doors.early.openNow(d.cfg.Socket); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, unix.SIGTERM, unix.SIGINT)
	defer stop()
	// The listeners go on until the election has ended, so that its end can be watched.
	outer, close := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close()
	serve(outer, &wg, d.log, d.lock.Serve)
	answer := sync.OnceFunc(func() { d.startDoor(outer, &wg, d.doors.socket, d.cfg.Socket) })
	defer answer() // also after a start that fails: to end takes the socket off the host
	d.startDoor(outer, &wg, d.doors.health, d.cfg.Health.Address)
	defer context.AfterFunc(ctx, func() { d.ending.Store(true) })()
	if err := d.addInstances(); err != nil {
		return err
	}
	d.build.raft.life = ctx
	defer afterStart(d.settled(), d.log)()
	answer() // before this there would be no instance in it; who asked meanwhile waits
	d.startDoor(outer, &wg, d.doors.metrics, d.cfg.Metrics.Address)
	d.runInstances(ctx, outer, &wg, hup)
	return nil
}

// backend is what the control socket answers with.
func (d *Daemon) backend() control.Program {
	asked := verbs{d.set}
	return control.Program{
		Status: d.status, Config: d.running, History: d.history, Announce: asked.announce, Reload: func(ctx context.Context) (any, error) { return d.reload(ctx) },
		Handover: asked.handover, Drain: asked.drain, Hold: asked.hold, Resume: d.set.Resume, Member: d.member, LogLevel: d.level.lend,
		Asked: func(a control.Asked, err error) { logAsked(d.log, a, err) },
		Drill: d.drills.run, DrillSeen: d.drills.seen, DrillPlan: d.drills.plan,
	}
}

// settled is the configuration in force, when a reload that is being carried out has ended.
func (d *Daemon) settled() *config.Config {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cfg
}

// serve runs one listener until ctx ends.
func serve(ctx context.Context, wg *sync.WaitGroup, log *slog.Logger, run func(context.Context) error) {
	wg.Go(func() {
		if err := run(ctx); err != nil {
			log.Error("a listener ended", "error", err)
		}
	})
}

// addInstances makes the instances of the configuration. None of them runs yet.
func (d *Daemon) addInstances() error {
	d.build.groups.set(d.cfg.Internal())
	d.build.newest.Store(d.cfg)
	instances, err := d.build.instances(d.cfg.VIPs, d.cfg)
	if err != nil {
		return err
	}
	d.build.rememberTables(d.cfg.StateDir, d.cfg.VIPs)
	if err := d.host.removeStrays(); err != nil {
		d.log.Warn("an address of an earlier run stays", "error", err)
	}
	d.host.bearers.removeOthers(d.cfg)
	removeOldFences(d.cfg, &d.host.seen, d.log)
	if err := d.build.removeSpread(d.cfg.VIPs); err != nil {
		d.log.Warn("tables of what an earlier run has spread stay", "error", err)
	}
	if err := d.build.removeRoutes(d.cfg); err != nil {
		d.log.Warn("routes of an earlier run stay", "error", err)
	}
	d.hooks.Open(d.cfg.FIFO)
	d.hooks.Use(hookEntries(d.cfg), nil)
	d.set.Apply(instance.Delta{Add: instances})
	d.listening.use(d.cfg)
	d.log.Info("started", "version", d.opts.Version, "config", d.cfg.Path, "vips", introduced(instances))
	return nil
}

// runInstances runs the instances until ctx ends.
func (d *Daemon) runInstances(ctx, outer context.Context, wg *sync.WaitGroup, hup <-chan os.Signal) {
	wg.Go(func() { d.host.follow(outer, d.set.HostChanged) })
	wg.Go(func() { d.hangups(outer, hup) })
	files := &keepalivedFiles{log: d.log, config: d.settled, status: d.set.Status}
	wg.Go(func() { files.run(outer) })
	wg.Go(func() { notify(ctx, outer, d.set, d.log) })
	wg.Go(func() { d.build.raft.keepTrying(ctx) })
	wg.Go(func() { d.listening.run(outer) })
	d.set.Run(ctx)
	d.stopDepartures()
	d.build.raft.close()
	d.host.bearers.removeOthers(nil)
	d.hooks.Close()
	d.log.Info("stopped")
}

// introduced says what a process takes part in: "apiserver 10.0.0.100/32 on eth0, VRID 51".
func introduced(all []instance.Config) []string {
	out := make([]string, len(all))
	for i, in := range all {
		var of []string
		for _, a := range in.VIP.Addresses[:min(len(in.VIP.Addresses), 3)] {
			of = append(of, a.String())
		}
		if more := len(in.VIP.Addresses) - len(of); more > 0 {
			of = append(of, fmt.Sprintf("%d more", more))
		}
		out[i] = in.VIP.Name + " " + strings.Join(of, " ")
		if p, err := in.Place(); err != nil {
			out[i] += ", " + err.Error()
		} else if in.VIP.External() {
			out[i] += " external"
		} else {
			out[i] += " on " + p.Name
		}
		if id := in.VRID(); id != 0 {
			out[i] += fmt.Sprintf(", VRID %d", id)
		}
	}
	return out
}
