package daemon

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/control"
)

// balancers are told whether this node should get connections. The zero value tells nobody.
type balancers struct {
	answers answers

	mu      sync.Mutex                           // guards what follows
	address string                               // "": nobody is told
	stop    func()                               // ends the listener, and waits; nil without one
	serve   func(*control.Listener) (end func()) // nil before Run
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
	return d.balancers.answers.next(name, why, known, time.Now())
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

// openHealth opens the listener of the configuration, and has it serve until ctx ends.
func (d *Daemon) openHealth(ctx context.Context, wg *sync.WaitGroup) error {
	b := &d.balancers
	b.mu.Lock()
	b.serve = func(l *control.Listener) func() {
		ctx, cancel := context.WithCancel(ctx)
		ended := make(chan struct{})
		d.serve(ctx, wg, func(ctx context.Context) error {
			defer close(ended)
			return l.Serve(ctx)
		})
		return func() { cancel(); <-ended }
	}
	b.mu.Unlock()
	use, err := d.prepareHealth(d.cfg.Health)
	if err == nil {
		use()
	}
	return err
}

// prepareHealth opens the listener of h beside the one that serves, where that has another port. What it returns has the new one serve, and
// the old one end. It is the last that can fail of a change of the configuration.
func (d *Daemon) prepareHealth(h config.Health) (use func(), err error) {
	b := &d.balancers
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.serve == nil || b.address == h.Address {
		return func() {}, nil
	}
	var next *control.Listener
	samePort := h.Port() == config.Health{Address: b.address}.Port()
	if h.Address != "" && !samePort {
		if next, err = control.ListenHealth(h.Address, d.health()); err != nil {
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
			if next, err = control.ListenHealth(h.Address, d.health()); err != nil {
				b.address = ""
				d.log.Error("balancers are not told how this node is", "error", err)
			}
		}
		if next != nil {
			b.stop = b.serve(next)
			d.lookForAddress("health.address", b.address)
		}
	}, nil
}
