package daemon

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/node/control"
)

// balancers are told whether this node should get connections, by one listener at a time.
type balancers struct {
	health control.Health       // what the listener answers
	opened func(address string) // is told of each new one
	log    *slog.Logger

	mu      sync.Mutex                           // guards what follows
	address string                               // "": nobody is told
	stop    func()                               // ends the listener, and waits; nil without one
	serve   func(*control.Listener) (end func()) // nil before open
}

// answers are what balancers were told, by the names of virtual addresses.
type answers struct {
	mu   sync.Mutex // guards last
	last map[string]answered
}

// answered is what was answered last about a virtual address.
type answered struct {
	why error
	at  time.Time
}

// sameFor is for how long an answer stays what it was while there is no new one: an instance that begins anew has no result for a moment.
const sameFor = 3 * time.Second

var (
	errNoResult = errors.New("no result of the checks yet")
	errEnding   = errors.New("keepvip is stopping")
)

// fit is what a balancer is told of the virtual address of that name.
func (d *Daemon) fit(name string) error {
	if d.ending.Load() {
		return errEnding
	}
	why, known := d.set.Fit(name)
	return d.answers.next(name, why, known, time.Now())
}

// next is pure but for what it remembers.
func (b *answers) next(name string, why error, known bool, now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if known {
		if b.last == nil {
			b.last = map[string]answered{}
		}
		b.last[name] = answered{why, now}
		return why
	}
	if was, ok := b.last[name]; ok && now.Sub(was.at) < sameFor {
		return was.why
	}
	if why == nil {
		why = errNoResult
	}
	return why
}

// health is what the listener of this process answers.
func (d *Daemon) health() control.Health {
	return control.Health{Names: func() []string { return namesOf(d.inForce.Load().VIPs) }, Fit: d.fit, Refuse: d.host.seen.isVirtual}
}

// open opens the listener of h. This one and those that come later are given to serve, each with a context within ctx.
func (b *balancers) open(ctx context.Context, h config.Health, serve func(ctx context.Context, run func(context.Context) error)) error {
	b.mu.Lock()
	b.serve = func(l *control.Listener) func() {
		ctx, cancel := context.WithCancel(ctx)
		ended := make(chan struct{})
		serve(ctx, func(ctx context.Context) error {
			defer close(ended)
			return l.Serve(ctx)
		})
		return func() { cancel(); <-ended }
	}
	b.mu.Unlock()
	use, err := b.prepare(h)
	if err == nil {
		use()
	}
	return err
}

// prepare opens the listener of h beside the one that serves, where that has another port. What it returns has the new one serve, and
// the old one end. It is the last that can fail of a change of the configuration.
func (b *balancers) prepare(h config.Health) (use func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.serve == nil || b.address == h.Address {
		return func() {}, nil
	}
	var next *control.Listener
	samePort := h.Port() == config.Health{Address: b.address}.Port()
	if h.Address != "" && !samePort {
		if next, err = control.ListenHealth(h.Address, b.health); err != nil {
			return nil, err
		}
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.stop != nil {
			b.stop()
			b.stop = nil
		}
		b.address = h.Address
		if samePort {
			if next, err = control.ListenHealth(h.Address, b.health); err != nil {
				b.address = ""
				b.log.Error("balancers are not told how this node is", "error", err)
			}
		}
		if next != nil {
			b.stop = b.serve(next)
			b.opened(b.address)
		}
	}, nil
}
