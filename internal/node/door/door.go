// Package door keeps a listener open that stands beside what keepvip is there for. Whoever has its port or its path keeps no address from being
// served: the door says so, and tries again until the listener is open.
//
// # Goroutines
//
//   - Run uses its caller's.
//   - The listener that is open has one, which the caller's Start begins. Where it ends by itself it is opened again.
package door

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/nudge"
	"github.com/keepvip/keepvip/internal/base/places"
)

// Listener is what stands open.
type Listener interface {
	// Serve answers until ctx ends, and is closed then.
	Serve(ctx context.Context) error
	Count() places.Count
}

// Door is one listener. Its methods may be called from any goroutine. Its functions are called by one at a time.
type Door struct {
	// Opened is told of each listener that is open; nil: nobody is. It is set before Start.
	Opened func(address string)

	option string    // "metrics.address"
	code   code.Code // of a listener that cannot be opened
	listen func(address string) (Listener, error)
	log    *slog.Logger
	wake   nudge.Signal // it may have failed
	over   nudge.Signal // what was open has ended by itself

	mu     sync.Mutex // guards what follows
	start  func(run func(context.Context) error) (end func())
	wanted string // "": none
	is     string // where the listener that is open is; "": none is
	open   *standing
	end    func()
	failed error // why it is not as wanted
}

// standing is a listener that was opened.
type standing struct {
	Listener
	ended atomic.Pointer[error] // why it has ended without having been told to; nil: it has not
}

// Status is how a door stands. Its JSON form is part of the status.
type Status struct {
	Option      string    `json:"option"`
	Address     string    `json:"address"`           // as wanted
	Connections int       `json:"connections"`       // that have a place now
	Places      int       `json:"places,omitempty"`  // how many there may be; absent while it is not open
	Lost        uint64    `json:"lost,omitempty"`    // that were ended to make room for another owner's
	Problem     string    `json:"problem,omitempty"` // why it is not open there
	Code        code.Code `json:"code,omitempty"`    // of Problem
}

const (
	// leastWait and mostWait bound the time between two tries. Whoever gives the port up sees it taken again within seconds.
	leastWait, mostWait = 500 * time.Millisecond, 4 * time.Second
)

// New makes a door of that option that is not open. listen opens its listeners, and the code is for one that cannot be
// opened.
func New(option string, of code.Code, listen func(address string) (Listener, error), log *slog.Logger) *Door {
	return &Door{option: option, code: of, listen: listen, log: log, wake: nudge.New(), over: nudge.New()}
}

// Start opens it. start runs a listener in a goroutine, and returns what ends it and waits.
func (d *Door) Start(address string, start func(run func(context.Context) error) (end func())) {
	d.mu.Lock()
	d.start = start
	d.mu.Unlock()
	d.Use(address)
}

// Use has it listen at another address, now if that can be and as soon as it can be otherwise. Until then the one that is open stays, unless both
// have one port. "" closes it. Before Start it does nothing.
func (d *Door) Use(address string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.start == nil {
		return
	}
	d.wanted = address
	d.step()
	d.wake.Send()
}

// Run tries again as long as it is not as wanted, until ctx ends.
func (d *Door) Run(ctx context.Context) {
	wait := leastWait
	again := time.NewTimer(wait)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.wake:
			wait = leastWait
		case <-d.over:
		case <-again.C:
		}
		if !d.try() {
			again.Reset(wait)
			wait = min(2*wait, mostWait)
		}
	}
}

// try reports whether it is as wanted.
func (d *Door) try() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.step()
	return d.failed == nil
}

// serve runs a listener. Whoever ends it holds the lock and waits, so that this takes none.
func (d *Door) serve(ctx context.Context, l *standing) error {
	err := l.Serve(ctx)
	if ctx.Err() == nil {
		why := fmt.Errorf("the listener has ended: %w", cmp.Or(err, errNoReason))
		l.ended.Store(&why)
		d.over.Send()
	}
	return err
}

var errNoReason = errors.New("no reason is known")

// gone closes a listener that has ended by itself, and tells whether it was one. The caller holds the lock.
func (d *Door) gone() bool {
	if d.open == nil {
		return false
	}
	why := d.open.ended.Load()
	if why == nil {
		return false
	}
	at := d.is
	d.close()
	d.fail(at, *why)
	return true
}

// step makes it as wanted, if that can be. The caller holds the lock.
func (d *Door) step() {
	if d.gone() {
		return // the next try comes after a while, as one that ends again and again is to take no processor
	}
	switch {
	case d.start == nil || d.wanted == d.is:
		d.failed = nil
		return
	case d.wanted == "":
		d.close()
		d.failed = nil
		return
	case d.is != "" && portOf(d.is) == portOf(d.wanted):
		d.close()
	}
	l, err := d.listen(d.wanted)
	if err != nil {
		d.fail(d.wanted, err)
		return
	}
	d.close()
	if d.failed != nil {
		d.log.Info("the listener is open now", "option", d.option, "address", d.wanted)
	}
	opened := &standing{Listener: l}
	d.is, d.open, d.failed = d.wanted, opened, nil
	d.end = d.start(func(ctx context.Context) error { return d.serve(ctx, opened) })
	if d.Opened != nil {
		d.Opened(d.is)
	}
}

// fail notes why it is not as wanted, and says so once. The caller holds the lock.
func (d *Door) fail(address string, err error) {
	if d.failed == nil || d.failed.Error() != err.Error() {
		d.log.Warn("a listener cannot be opened; keepvip goes on without it and tries again", "option", d.option, "address", address,
			"code", string(d.code), "error", err, "remedy", d.code.Entry().Remedy)
	}
	d.failed = err
}

// close ends the listener that is open. The caller holds the lock.
func (d *Door) close() {
	if d.end != nil {
		d.end()
	}
	d.is, d.open, d.end = "", nil, nil
}

func portOf(address string) string {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return port
}

// Status is nil where nothing is wanted.
func (d *Door) Status() *Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.wanted == "" {
		return nil
	}
	out := &Status{Option: d.option, Address: d.wanted}
	if d.open != nil {
		c := d.open.Count()
		out.Connections, out.Places, out.Lost = c.Taken, c.Most, c.Lost
	}
	if d.failed != nil {
		out.Problem, out.Code = d.failed.Error(), d.code
	}
	return out
}
