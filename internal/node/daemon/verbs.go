package daemon

import (
	"context"
	"errors"
	"log/slog"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/node/control"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// logAsked logs what operators ask for: who did it must not be a riddle afterwards.
func logAsked(log *slog.Logger, a control.Asked, err error) {
	log = log.With("command", a.Verb, "uid", a.UID, "pid", a.PID)
	if len(a.VIPs) > 0 {
		log = log.With("vips", a.VIPs)
	}
	if err != nil {
		log.Warn("a command failed", "error", err)
		return
	}
	log.Info("a command was carried out")
}

// verbs are what operators ask of instances.
type verbs struct{ set *instance.Set }

func (v verbs) announce(names []string) error { return v.set.Announce(names...) }

func (v verbs) handover(ctx context.Context, names []string, to string) error {
	return kindOf(v.set.Handover(ctx, names, to))
}

func (v verbs) drain(ctx context.Context, names []string, wait bool) error {
	if wait {
		return kindOf(v.set.DrainWait(ctx, names))
	}
	return kindOf(v.set.Drain(ctx, names))
}

func (v verbs) hold(ctx context.Context, names []string, reason string, force bool) error {
	return kindOf(v.set.Hold(ctx, names, reason, force))
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
