package daemon

import (
	"context"
	"errors"
	"sync"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/places"
	"github.com/keepvip/keepvip/internal/node/control"
	"github.com/keepvip/keepvip/internal/node/door"
	"github.com/keepvip/keepvip/internal/node/metrics"
)

// doors are the listeners beside the election. None of them decides whether this node serves an address: any user of the host may have a port.
//
// That holds at a start, too. What can be known of an address without the host, `keepvip config validate` says. The rest may change while keepvip
// runs, and the same configuration is on all nodes.
type doors struct {
	socket, health, metrics *door.Door
	early                   *earlySocket // what socket opens
}

func (d *Daemon) newDoors() doors {
	early := &earlySocket{program: d.backend()}
	health := door.New("health.address", code.HealthUnheard, func(at string) (door.Listener, error) {
		return control.ListenHealth(at, d.health())
	}, d.log)
	told := door.New("metrics.address", code.MetricsUnheard, func(at string) (door.Listener, error) {
		cfg := d.cfg.Metrics
		cfg.Address = at
		return metrics.Listen(cfg, d.told())
	}, d.log)
	health.Opened = func(at string) { d.lookForAddress("health.address", at) }
	told.Opened = func(at string) { d.lookForAddress("metrics.address", at) }
	return doors{socket: door.New("socket", code.SocketUnheard, early.open, d.log), health: health, metrics: told, early: early}
}

// earlySocket is the control socket, which may be open before its door is.
type earlySocket struct {
	program control.Program
	server  *control.Server // nil: it is not open, or the door has it
}

func (e *earlySocket) open(path string) (door.Listener, error) {
	if s := e.server; s != nil {
		e.server = nil
		return s, nil
	}
	return control.Open(path, e.program)
}

// openNow opens it before anything is done. The error is a mistake of the configuration; whatever else keeps it from being open is
// tried again later.
func (e *earlySocket) openNow(path string) error {
	s, err := control.Open(path, e.program)
	var mistake *control.MistakeError
	if errors.As(err, &mistake) {
		return err
	}
	if err == nil {
		e.server = s
	}
	return nil
}

// startDoor opens a door for as long as ctx lasts.
func (d *Daemon) startDoor(ctx context.Context, wg *sync.WaitGroup, at *door.Door, address string) {
	at.Start(address, func(run func(context.Context) error) (end func()) {
		ctx, cancel := context.WithCancel(ctx)
		ended := make(chan struct{})
		serve(ctx, wg, d.log, func(ctx context.Context) error {
			defer close(ended)
			return run(ctx)
		})
		return func() { cancel(); <-ended }
	})
	wg.Go(func() { at.Run(ctx) })
}

// statuses are how the doors stand that are wanted.
func (d doors) statuses() (out []door.Status) {
	for _, one := range []*door.Door{d.socket, d.metrics, d.health} {
		if s := one.Status(); s != nil {
			out = append(out, *s)
		}
	}
	return out
}

// listeners is how all listeners fare, for Prometheus.
func (d *Daemon) listeners() (out []metrics.Listening) {
	for _, s := range d.doors.statuses() {
		out = append(out, metrics.Listening{Name: s.Option, Up: s.Problem == "", Places: &places.Count{Most: s.Places, Taken: s.Connections, Lost: s.Lost}})
	}
	if s := d.listening.status(); s != nil {
		out = append(out, metrics.Listening{Name: "follow.listen", Up: s.Problem == "", Places: &places.Count{Most: s.Places, Taken: s.Connections, Lost: s.Lost}})
	}
	return out
}
