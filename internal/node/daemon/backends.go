package daemon

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/check/health"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/serve/service/spread"
)

// backends are the servers that connections to v go to in place of members; none: it has members. Those that are asked join the company.
func (b *builder) backends(v config.VIP, all *company) []*spread.Backend {
	var out []*spread.Backend
	unasked := false
	for _, server := range v.Spread.Backends {
		h, asked := v.BackendCheck(server)
		one := &spread.Backend{Backend: server, ID: fmt.Sprintf("%#v %#v", server, h)}
		unasked = unasked || !asked
		if asked {
			log := b.log.With("vip", v.Name, "backend", server.Addresses[0])
			one.Watch = func(ctx context.Context, report func(health.Verdict)) {
				c, err := checkerOf(v, h, nil, b.probings, log)
				if err != nil {
					report(health.Verdict{State: health.Unhealthy, Reason: err.Error()})
					return
				}
				c.Alone(all.alone(one))
				defer all.leave(one)
				c.Run(ctx, func(verdict health.Verdict) {
					all.note(one, verdict.State == health.Healthy)
					if verdict.State != health.Unknown {
						report(verdict)
					}
				})
			}
		}
		out = append(out, one)
	}
	all.has(unasked)
	return out
}

// anyBackend takes a look at backends until one is good: at the one that was good last, and at all others, too, when that one has had half of the
// time, or is not good. After a look at which none was, it looks at all of them at once.
type anyBackend struct {
	probers []health.Prober
	last    int
	bad     bool // none was good
}

func proberOfBackends(v config.VIP, near neighbours) (health.Prober, error) {
	p := &anyBackend{}
	for _, b := range v.Spread.Backends {
		h, asked := v.BackendCheck(b)
		if !asked {
			return health.Func(func(context.Context) health.Result { return health.Result{Reason: "UDP alone is not asked"} }), nil
		}
		h.Watch = false
		one, err := proberOf(v, h, near)
		if err != nil {
			return nil, err
		}
		p.probers = append(p.probers, one)
	}
	return p, nil
}

// look is what a look at one of them has found.
type look struct {
	at     int
	result health.Result
}

// Probe implements health.Prober.
func (p *anyBackend) Probe(ctx context.Context) health.Result {
	ctx, cancel := context.WithCancel(ctx)
	var looking sync.WaitGroup
	defer looking.Wait() // a prober takes one look at a time
	defer cancel()
	found := make(chan look, len(p.probers))
	begin := func(i int) { looking.Go(func() { found <- look{i, p.probers[i].Probe(ctx)} }) }
	begin(p.last)
	others := func() {
		for i := range p.probers {
			if i != p.last {
				begin(i)
			}
		}
	}
	half := time.NewTimer(time.Hour)
	defer half.Stop()
	if end, limited := ctx.Deadline(); limited {
		half.Reset(time.Until(end) / 2)
	}
	alone := !p.bad
	if !alone {
		others()
	}
	var failed health.Result
	for seen := 0; seen < len(p.probers); {
		select {
		case l := <-found:
			seen++
			if l.result.Outcome == health.Pass {
				p.last, p.bad = l.at, false
				return l.result
			}
			if l.at == p.last && failed.Outcome != health.Unasked || l.result.Outcome == health.Unasked {
				failed = l.result
			}
		case <-half.C:
		}
		if alone {
			alone = false
			others()
		}
	}
	p.bad = true
	if failed.Outcome == health.Unasked { // the one that was not asked may be good
		return failed
	}
	failed.Reason = "no backend is healthy: " + failed.Reason
	return failed
}
