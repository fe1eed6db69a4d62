package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"

	"github.com/keepvip/keepvip/internal/agent"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/health"
)

// checker is one configured health check, made.
type checker struct {
	*health.Checker
	name   string // "" for the only one
	id     string // what it does
	weight int
}

// checkersOf makes the health checks of v, in the order of the configuration.
func checkersOf(v config.VIP, near neighbours, log *slog.Logger) ([]checker, error) {
	if len(v.Checks) == 0 {
		if v.Check.None() {
			return nil, nil
		}
		c, err := simpleChecker(v.Check, log)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.Name, err)
		}
		return []checker{c}, nil
	}
	out := make([]checker, len(v.Checks))
	for i, h := range v.Checks {
		c, err := listedChecker(v, h, near, log)
		if err != nil {
			return nil, fmt.Errorf("%s: the check %s: %w", v.Name, h.Name, err)
		}
		out[i] = c
	}
	return out, nil
}

func simpleChecker(h config.Check, log *slog.Logger) (checker, error) {
	h = h.Resolved()
	cfg := health.Config{
		URL: h.URL, CAFile: h.CA, ServerName: h.ServerName,
		Interval: h.Interval, Timeout: h.Timeout, Rise: h.Rise, Fall: h.Fall,
	}
	c, err := simpleHealth(h, cfg, log)
	h.WhenAllUnhealthy = "" // what the agent makes of the verdict is no part of the check
	return checker{Checker: c, id: fmt.Sprintf("%+v", h)}, err
}

func simpleHealth(h config.Check, cfg health.Config, log *slog.Logger) (*health.Checker, error) {
	if address := h.TCP(); address != "" {
		p, err := health.TCP(address, cfg)
		if err != nil {
			return nil, err
		}
		return health.NewChecker(p, cfg, log)
	}
	return health.New(cfg, log)
}

func listedChecker(v config.VIP, h config.ListedCheck, near neighbours, log *slog.Logger) (checker, error) {
	log = log.With("check", h.Name)
	cfg := health.Config{
		URL: h.URL, CAFile: h.CA, ServerName: serverName(h), Codes: h.Codes,
		CertFile: h.ClientCert, KeyFile: h.ClientKey, TokenFile: h.TokenFile, NoIdle: !h.Watch,
		Interval: h.Interval, Timeout: h.Timeout, Rise: h.Rise, Fall: h.Fall,
	}
	p, err := proberOf(v, h, cfg, near)
	if err != nil {
		return checker{}, err
	}
	c, err := health.NewChecker(p, cfg, log)
	weight := h.Weight
	h.Weight = 0 // what the agent makes of the verdict is no part of the check
	id := fmt.Sprintf("%+v", h)
	if h.Kind == config.CheckGateway {
		id += fmt.Sprint(v.Addresses[0], v.Interface) // from where it asks
	}
	return checker{Checker: c, name: h.Name, id: id, weight: weight}, err
}

func proberOf(v config.VIP, h config.ListedCheck, cfg health.Config, near neighbours) (health.Prober, error) {
	switch h.Kind {
	case config.CheckHTTPS, config.CheckHTTP:
		return health.HTTP(cfg)
	case config.CheckTCP:
		return health.TCP(h.Address, cfg)
	case config.CheckExec:
		return health.Exec(health.ExecConfig{Command: h.Command, UID: h.UID, GID: h.GID, Timeout: h.Timeout})
	case config.CheckFile:
		return health.File(health.FileConfig{Path: h.Path, Absent: h.Absent, MaxAge: h.MaxAge}), nil
	case config.CheckProcess:
		return health.Process(h.Process, h.Watch), nil
	case config.CheckInterface:
		return health.Interface(h.Interface)
	case config.CheckGateway:
		return health.Gateway(near(v, h.Router), cfg), nil
	}
	return nil, fmt.Errorf("no check of kind %q", h.Kind)
}

// serverName is what the reference says: the URL's host, where that is a name.
func serverName(h config.ListedCheck) string {
	if h.ServerName != "" || h.Kind != config.CheckHTTPS {
		return h.ServerName
	}
	u, err := url.Parse(h.URL)
	if err != nil || net.ParseIP(u.Hostname()) != nil {
		return ""
	}
	return u.Hostname()
}

// agentCheck is a checker as the agent sees it.
func agentCheck(c checker) agent.Check {
	return agent.Check{
		Name: c.name, ID: c.id, Weight: c.weight,
		Run: func(ctx context.Context, report func(agent.Verdict)) {
			c.Run(ctx, func(h health.Verdict) { report(verdictOf(h)) })
		},
		Verdict: func() agent.Verdict { return verdictOf(c.Verdict()) },
		Fresh:   func(ctx context.Context) agent.Verdict { return freshVerdict(ctx, c) },
	}
}

// freshVerdict is good only when both are: the look that begins now, and what the looks before it have added up to.
func freshVerdict(ctx context.Context, c checker) agent.Verdict {
	r, err := c.Fresh(ctx)
	v := verdictOf(c.Verdict())
	v.Known = true
	switch {
	case err != nil:
		v.Healthy, v.Reason = false, "no result in time"
	case r.Outcome != health.Pass:
		v.Healthy, v.Reason = false, r.Reason
	}
	return v
}

func verdictOf(v health.Verdict) agent.Verdict {
	return agent.Verdict{
		Known: v.State != health.Unknown, Healthy: v.State == health.Healthy,
		Reason: v.Reason, Hint: v.Hint, Since: v.Since, LastProbe: v.LastProbe, Latency: v.LastLatency,
		Probes: v.Probes, Failures: v.Failures, Changes: v.Changes, Streak: v.Streak, Falls: v.Falls, Rise: v.Rise,
	}
}

// topPriority is the priority of a node whose checks are all good.
func topPriority(v config.VIP) uint8 {
	var weights []int
	for _, h := range v.Checks {
		weights = append(weights, h.Weight)
	}
	return agent.TopPriority(v.Priority, weights...)
}
