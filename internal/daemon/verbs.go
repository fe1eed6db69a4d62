package daemon

import (
	"context"
	"errors"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/control"
)

// asked logs what operators ask for: who did it must not be a riddle afterwards.
func (d *Daemon) asked(a control.Asked, err error) {
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

func (d *Daemon) announce(names []string) error { return d.set.Announce(names...) }

func (d *Daemon) handover(ctx context.Context, names []string, to string) error {
	return kindOf(d.set.Handover(ctx, names, to))
}

func (d *Daemon) drain(ctx context.Context, names []string, wait bool) error {
	if wait {
		return kindOf(d.set.DrainWait(ctx, names))
	}
	return kindOf(d.set.Drain(ctx, names))
}

func (d *Daemon) holdBack(ctx context.Context, names []string, reason string, force bool) error {
	return kindOf(d.set.Hold(ctx, names, reason, force))
}

// kindOf tells the client what to make of an error of the election.
func kindOf(err error) error {
	switch {
	case errors.Is(err, election.ErrTimeout):
		return &control.KindError{Kind: control.KindTimeout, Err: err}
	case errors.Is(err, election.ErrNoTaker):
		return &control.KindError{Kind: control.KindNoTaker, Err: err}
	}
	return err
}
