package daemon

import (
	"sync/atomic"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/internal/serve/service/route"
)

// spreadByRoutes has an instance serve its addresses by a route, and spread what routers send here over the members: a connection then goes on where
// it is, whichever member the routers choose from one moment to the next.
func (b *builder) spreadByRoutes(in *instance.Config, v config.VIP, cfg route.Config) {
	cfg.Spread = true
	spread, log := b.spreadConfig(v), b.log.With("vip", v.Name)
	spread.Each = true
	in.Serve = func(blocked func(instance.Blocked)) instance.Service {
		s := &routed{blocked: blocked}
		own := *spread
		own.Stands = s.stands
		s.joined = &joined{Service: route.New(cfg, b.routes(), log), host: spreadHost{b.host}, log: log}
		s.configure(&own, nil, false)
		return s
	}
	in.Reconfigure = func(s instance.Service) {
		if s, ok := s.(*routed); ok {
			own := *spread
			own.Stands = s.stands
			s.configure(&own, nil, true)
		}
	}
}

// routed is the service of an address that each member announces by a route, and whose load is spread: no router is told before the tables are there.
type routed struct {
	*joined
	blocked func(instance.Blocked)
	waits   atomic.Bool // for the tables
}

// Begin implements instance.Service.
func (r *routed) Begin(t instance.Term) {
	r.waits.Store(false) // a term begins with nothing that blocks it
	r.stands(false)
	r.joined.Begin(t)
}

// stands takes in whether the kernel has the tables.
func (r *routed) stands(yes bool) {
	if r.waits.Swap(!yes) == !yes {
		return
	}
	if yes {
		r.blocked(instance.Blocked{})
		return
	}
	r.blocked(instance.Blocked{Wait: true, Reason: "the tables that spread connections are not there yet", Code: code.NotSpread})
}
