package daemon

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/health"
	"github.com/keepvip/keepvip/internal/service/spread"
)

// backends are the servers that connections to v go to in place of members; none: it has members.
func (b *builder) backends(v config.VIP) []spread.Backend {
	var out []spread.Backend
	for _, server := range v.Spread.Backends {
		h, asked := v.BackendCheck(server)
		one := spread.Backend{ID: fmt.Sprintf("%+v %+v", server, h), Addresses: server.Addresses, Port: server.Port, Weight: server.Weight}
		if asked {
			log := b.log.With("vip", v.Name, "backend", server.Addresses[0])
			one.Watch = func(ctx context.Context, report func(spread.Health)) {
				c, err := checkerOf(v, h, nil, log)
				if err != nil {
					report(spread.Health{Why: err.Error()})
					return
				}
				c.Run(ctx, func(verdict health.Verdict) {
					if verdict.State != health.Unknown {
						report(healthOf(verdict))
					}
				})
			}
		}
		out = append(out, one)
	}
	return out
}

func healthOf(v health.Verdict) spread.Health {
	return spread.Health{Good: v.State == health.Healthy, Why: v.Reason}
}

// anyBackend takes a look at backends until one is good: at the one that was good last, and, if that is not, at all others at once.
type anyBackend struct {
	probers []health.Prober
	last    int
}

func proberOfBackends(v config.VIP, near neighbours) (health.Prober, error) {
	p := &anyBackend{}
	for _, b := range v.Spread.Backends {
		h, asked := v.BackendCheck(b)
		if !asked {
			return health.Func(func(context.Context) health.Result { return health.Result{Reason: "UDP alone is not asked"} }), nil
		}
		h.Watch = false
		one, err := proberOf(v, h, healthConfig(h), near)
		if err != nil {
			return nil, err
		}
		p.probers = append(p.probers, one)
	}
	return p, nil
}

// Probe implements health.Prober.
func (p *anyBackend) Probe(ctx context.Context) health.Result {
	first := ctx
	if end, limited := ctx.Deadline(); limited {
		half, cancel := context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
		first = half
	}
	result := p.probers[p.last].Probe(first)
	if result.Outcome == health.Pass {
		return result
	}
	var all sync.WaitGroup
	results := make([]health.Result, len(p.probers))
	for i, one := range p.probers {
		results[i] = result
		if i != p.last {
			all.Go(func() { results[i] = one.Probe(ctx) })
		}
	}
	all.Wait()
	for i, r := range results {
		if r.Outcome == health.Pass {
			p.last = i
			return r
		}
	}
	result.Reason = "no backend is healthy: " + result.Reason
	return result
}
