package follower

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/sdnotify"
	"github.com/keepvip/keepvip/internal/base/startpages"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/node/control"
	"github.com/keepvip/keepvip/internal/node/door"
	"github.com/keepvip/keepvip/internal/node/metrics"
	"github.com/keepvip/keepvip/internal/node/reloads"
	"github.com/keepvip/keepvip/internal/node/singleton"
)

// endTime is how long a keepvip that ran here before may take to end: a pod that is replaced can overlap with the next one.
const endTime = 3 * time.Second

const (
	// startTime is how long a start takes, at most, on an ordinary machine.
	startTime = 2 * time.Second
	// lateStart is how long it takes on a machine that is busy, with all that is done for the first time.
	lateStart = 20 * time.Second
)

// gcPercent trades processor time, of which there is hardly any, for memory, which every node gives up.
const gcPercent = 40

// Process is a follower as a process of its own, the only keepvip of its network namespace.
type Process struct {
	Following Following
	Load      func() (Following, error) // reads the configuration again, on SIGHUP
	Version   string
	Node      string
	Host      Host
	Log       *slog.Logger

	reading reloads.Reading
}

// Run follows until ctx ends, SIGTERM or SIGINT, and leaves nothing behind on the host.
func (p Process) Run(ctx context.Context) (err error) {
	tune()
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, unix.SIGHUP) // from the beginning: it would end a process that does not wait for it
	defer signal.Stop(hangups)
	lock, err := singleton.Wait(ctx, p.Following.Whole.Socket, endTime, func(r *singleton.RunningError) {
		p.Log.Info("another keepvip runs here; its end is waited for", "pid", r.PID, "socket", r.Socket, "limit", endTime)
	})
	if err != nil {
		return err
	}
	defer lock.Close()
	if lock.Doubt != "" {
		p.Log.Warn("what keeps a second keepvip from running here is only half held", "reason", lock.Doubt)
	}
	ctx, stop := signal.NotifyContext(ctx, unix.SIGTERM, unix.SIGINT)
	defer stop()
	return p.serve(ctx, hangups, lock.Serve)
}

// serve follows until ctx ends, and answers whoever asks, by locked those who ask whose this network namespace is.
func (p Process) serve(ctx context.Context, hangups <-chan os.Signal, locked func(context.Context) error) (err error) {
	var shown shown
	if shown.socket, err = p.socketDoor(&shown); err != nil {
		return err
	}
	shown.metrics = p.metricsDoor(&shown)
	outer, end := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer end()
	wg.Go(func() { logged(p.Log, locked(outer)) })
	start := func(run func(context.Context) error) (end func()) {
		wg.Go(func() { logged(p.Log, run(outer)) })
		return func() {} // with the process
	}
	shown.socket.Start(p.Following.Whole.Socket, start)
	shown.metrics.Start(p.Following.Whole.Metrics.Address, start)
	for _, d := range shown.doors() {
		wg.Go(func() { d.Run(outer) })
	}
	wg.Go(func() { p.notify(ctx, outer, &shown) })
	defer time.AfterFunc(startTime, p.afterStart).Stop()
	defer time.AfterFunc(lateStart, p.afterStart).Stop()
	return p.follow(ctx, hangups, &shown)
}

// socketDoor is the control socket. The error is a mistake of the configuration. Whatever else keeps the socket from being
// open keeps no connection from going to the members, and is tried again.
func (p Process) socketDoor(s *shown) (*door.Door, error) {
	server, err := control.OpenStatus(p.Following.Whole.Socket, s.answer)
	var mistake *control.MistakeError
	if errors.As(err, &mistake) {
		return nil, err
	}
	return door.New("socket", code.SocketUnheard, func(path string) (door.Listener, error) {
		if first := server; first != nil {
			server = nil
			return first, nil
		}
		return control.OpenStatus(path, s.answer)
	}, p.Log), nil
}

// metricsDoor is the listener for metrics. Whoever has its port keeps no connection from going to the members.
func (p Process) metricsDoor(s *shown) *door.Door {
	return door.New("metrics.address", code.MetricsUnheard, func(string) (door.Listener, error) {
		return metrics.Listen(p.Following.Whole.Metrics, p.told(s))
	}, p.Log)
}

// afterStart has the memory given back that only the start needed.
func (p Process) afterStart() {
	if err := startpages.Release(); err != nil {
		p.Log.Debug("memory of the start is kept", "error", err)
	}
}

func logged(log *slog.Logger, err error) {
	if err != nil {
		log.Error("a listener ended", "error", err)
	}
}

// follow runs one follower after the other, as the configuration changes.
func (p Process) follow(ctx context.Context, hangups <-chan os.Signal, s *shown) error {
	p.reading = reloads.NewReading()
	cfg, former, last := p.Following, (*Following)(nil), (*follower)(nil)
	for {
		f, err := p.open(cfg, last)
		if err != nil && former == nil {
			_, left := p.Host.Cleanup()
			return errors.Join(err, left)
		}
		if err != nil {
			s.reloads.Refused(err)
			p.Log.Error("configuration not reloaded; the old one stays in force", "error", err)
			cfg, former = *former, nil
			continue
		}
		names := []string{}
		for _, e := range cfg.Entries {
			names = append(names, e.Name)
		}
		p.Log.Info("following", "version", p.Version, "vips", names, "signed", cfg.Key != nil)
		s.current.Store(f)
		if former != nil || last == nil { // not the old one again
			s.reloads.Loaded(reloads.SourceOf(cfg.Whole))
		}
		next, err := p.until(ctx, f, hangups, s)
		if next == nil {
			p.Log.Info("stopped")
			return err
		}
		if err != nil {
			p.Log.Warn("something of the old configuration stays", "error", err)
		}
		before := cfg
		cfg, former, last = *next, &before, f
	}
}

// until runs f until ctx ends, or there is another configuration to go on with.
func (p Process) until(ctx context.Context, f *follower, hangups <-chan os.Signal, s *shown) (next *Following, err error) {
	run, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	var stays atomic.Bool
	go func() { ended <- f.Run(run, func() bool { return stays.Load() && ctx.Err() == nil }) }()
	for {
		select {
		case err := <-ended:
			return nil, err
		case <-hangups:
		}
		cfg, err := reloads.Read(ctx, p.reading, p.Load)
		if errors.Is(err, reloads.ErrProcessEnds) {
			return nil, <-ended
		}
		if err != nil {
			s.reloads.Refused(err)
			p.Log.Error("configuration not reloaded; the old one stays in force", "error", err)
			continue
		}
		p.keeps(cfg.Whole)
		if cfg.same(f.cfg) {
			s.reloads.Loaded(reloads.SourceOf(cfg.Whole))
			p.Log.Info("configuration read again: nothing has changed that is followed")
			continue
		}
		stays.Store(true)
		cancel()
		if err = <-ended; ctx.Err() != nil {
			return nil, err
		}
		return &cfg, err
	}
}

// keeps logs what of next only a new process takes over.
func (p Process) keeps(next *config.Config) {
	first := p.Following.Whole
	if next.Socket != first.Socket {
		p.Log.Warn("the socket stays where it is until a restart", "socket", first.Socket)
	}
	if next.Metrics != first.Metrics {
		p.Log.Warn("the listener for metrics stays as it is until a restart", "metrics.address", first.Metrics.Address)
	}
}

// notify tells the service manager how this process fares.
func (p Process) notify(ctx, outer context.Context, s *shown) {
	n, err := sdnotify.New(os.Getenv, os.Getpid())
	if err != nil {
		p.Log.Warn("the service manager is not told anything", "error", err)
		return
	}
	n.Run(ctx, outer, s.pulse, p.Log)
}

// tune sets up the runtime for a process that wakes up for microseconds, some dozens of times a second.
func tune() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
}
