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
type doors struct{ socket, health, metrics *door.Door }

func (d *Daemon) newDoors() doors {
	socket := door.Config{Option: "socket", Code: code.SocketUnheard, Open: d.openSocket, Log: d.log}
	health := door.Config{Option: "health.address", Code: code.HealthUnheard, Log: d.log, Open: func(at string) (door.Listener, error) {
		return control.ListenHealth(at, d.health())
	}}
	told := door.Config{Option: "metrics.address", Code: code.MetricsUnheard, Log: d.log, Open: func(at string) (door.Listener, error) {
		cfg := d.cfg.Metrics
		cfg.Address = at
		return metrics.Listen(cfg, d.told())
	}}
	health.Opened = func(at string) { d.lookForAddress("health.address", at) }
	told.Opened = func(at string) { d.lookForAddress("metrics.address", at) }
	return doors{socket: door.New(socket), health: door.New(health), metrics: door.New(told)}
}

// openSocket is the control socket, which may be open already.
func (d *Daemon) openSocket(path string) (door.Listener, error) {
	if s := d.early; s != nil {
		d.early = nil
		return s, nil
	}
	return control.Open(path, d.backend())
}

// openEarly opens the control socket before anything is done. The error is a mistake of the configuration; whatever else keeps it from being open is
// tried again later.
func (d *Daemon) openEarly() error {
	s, err := control.Open(d.cfg.Socket, d.backend())
	var mistake *control.MistakeError
	if errors.As(err, &mistake) {
		return err
	}
	if err == nil {
		d.early = s
	}
	return nil
}

// startDoor opens a door for as long as ctx lasts.
func (d *Daemon) startDoor(ctx context.Context, wg *sync.WaitGroup, at *door.Door, address string) {
	at.Start(address, func(run func(context.Context) error) (end func()) {
		ctx, cancel := context.WithCancel(ctx)
		ended := make(chan struct{})
		d.serve(ctx, wg, func(ctx context.Context) error {
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
