package daemon

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/keepvip/keepvip/internal/check/health"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// NamedCheck is one configured health check, made.
type NamedCheck struct {
	*health.Checker
	VIP    string // the name of the virtual address that it is for
	Name   string // "" for the only one
	Weight int    // what it moves the priority by; 0: a condition
	// Numbered says by its verdicts what it moves the priority by, and is a condition, too.
	Numbered bool
	id       string // what it does
	kind     config.CheckKind
}

// Label names the check among all: "apiserver", or "apiserver/db".
func (c NamedCheck) Label() string {
	if c.Name == "" {
		return c.VIP
	}
	return c.VIP + "/" + c.Name
}

// OpenChecks makes all configured checks for a look beside a daemon that may run; an address without any has one that always
// passes. done is to be called after them.
func OpenChecks(cfg *config.Config) (all []NamedCheck, done func(), err error) {
	here, near, done, err := surroundings(cfg)
	if err != nil {
		return nil, nil, onHost(err)
	}
	for _, v := range cfg.VIPs {
		list, err := checkersOf(v, near, nil, slog.New(slog.DiscardHandler))
		if err != nil {
			done()
			return nil, nil, err
		}
		if here != nil {
			list = here.seen.now().own.asked(v, list)
		}
		if len(list) == 0 {
			list = []NamedCheck{{Checker: health.Always(), VIP: v.Name}}
		}
		all = append(all, list...)
	}
	return all, done, nil
}

// checkersOf makes the health checks of v, in the order of the configuration.
func checkersOf(v config.VIP, near neighbours, shared *probings, log *slog.Logger) ([]NamedCheck, error) {
	var out []NamedCheck
	for _, h := range v.AllChecks() {
		c, err := checkerOf(v, h, near, shared, log)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Label(), err)
		}
		out = append(out, c)
	}
	return out, nil
}

func checkerOf(v config.VIP, h config.ListedCheck, near neighbours, shared *probings, log *slog.Logger) (NamedCheck, error) {
	c := NamedCheck{VIP: v.Name, Name: h.Name, Weight: h.Weight, Numbered: h.Number, kind: h.Kind}
	p, err := shared.of(asks(v, h), func() (*health.Probing, error) {
		p, err := proberOf(v, h, near)
		if err != nil {
			return nil, err
		}
		if h.Reverse && !h.Number {
			p = health.Reversed(p)
		}
		return health.NewProbing(p, h), nil
	})
	if err != nil {
		return c, err
	}
	if h.Name != "" {
		log = log.With("check", h.Name)
	}
	c.Checker, err = p.Checker(h, log)
	if !h.Number {
		h.Weight = 0 // what the instance makes of the verdict is no part of the check
	}
	c.id = fmt.Sprintf("%#v", h) + madeFor(v, h)
	return c, err
}

// madeFor is what a check of v has from v: whom it asks, and from where.
func madeFor(v config.VIP, h config.ListedCheck) string {
	switch h.Kind {
	case config.CheckBackends:
		return fmt.Sprintf("%#v", v.Spread)
	case config.CheckGateway:
		return fmt.Sprint(v.First(), v.Interface)
	}
	return ""
}

func proberOf(v config.VIP, h config.ListedCheck, near neighbours) (health.Prober, error) {
	switch h.Kind {
	case config.CheckHTTPS, config.CheckHTTP:
		p, err := health.HTTP(h)
		if err == nil && len(h.Further) > 0 {
			p = health.WithFurther(p, h.Further...)
		}
		return p, err
	case config.CheckTCP:
		return health.TCP(h)
	case config.CheckExec:
		return health.Exec(h)
	case config.CheckFile:
		if h.Number {
			return health.Number(h), nil
		}
		return health.File(h), nil
	case config.CheckProcess:
		return health.Process(h), nil
	case config.CheckInterface:
		return health.Interface(h.Interface)
	case config.CheckBackends:
		return proberOfBackends(v, near)
	case config.CheckGateway:
		return health.Gateway(near(v, h.Router), h), nil
	}
	return nil, fmt.Errorf("no check of kind %q", h.Kind)
}

// checkOf is a checker as an instance sees it.
func checkOf(c NamedCheck) instance.Check {
	return instance.Check{
		Name: c.Name, ID: c.id, Weight: c.Weight, Numbered: c.Numbered, Run: c.Run, Verdict: c.Verdict, Alone: c.Checker.Alone,
		Fresh: func(ctx context.Context) health.Verdict { return freshVerdict(ctx, c) },
	}
}

// freshVerdict is good only when both are: the look that begins now, and what the looks before it have added up to.
func freshVerdict(ctx context.Context, c NamedCheck) health.Verdict {
	r, err := c.Fresh(ctx)
	v := c.Verdict()
	switch {
	case err != nil:
		v.State, v.Reason = health.Unhealthy, "no result in time"
	case r.Outcome != health.Pass:
		v.State, v.Reason = health.Unhealthy, r.Reason
	case v.State == health.Unknown:
		v.State = health.Unhealthy
	}
	return v
}

// topPriority is the priority of a node whose checks are all good.
func topPriority(v config.VIP) uint8 {
	var weights []int
	for _, h := range v.Checks {
		weights = append(weights, instance.MostOf(h.Weight, h.Number))
	}
	return instance.TopPriority(v.Priority, weights...)
}
