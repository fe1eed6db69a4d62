package daemon

import (
	"sync/atomic"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/internal/serve/service/address"
	"github.com/keepvip/keepvip/internal/serve/service/route"
)

// spreadByRoutes serves the addresses by a route, and spreads what routers send here over the members: a connection then goes on where it is, whichever
// member the routers choose from one moment to the next.
func (b *builder) spreadByRoutes(in *instance.Config, blocked func(election.Fitness)) *routed {
	log := b.log.With("vip", in.VIP.Name)
	s := &routed{blocked: blocked, servedAddresses: &servedAddresses{build: b, log: log}}
	s.host = routedHost{spreadHost{b.host, b, &company{}}, s}
	s.addresses = unheld{route.New(in.VIP, b.routes(), log)}
	s.configure(in.VIP, false)
	return s
}

// routed is the service of an address that each member announces by a route, and whose load is spread: no router is told before the tables are there.
type routed struct {
	*servedAddresses
	blocked func(election.Fitness)
	waits   atomic.Bool // for the tables
}

// unheld is a route in place of addresses that the node holds.
type unheld struct{ *route.Service }

// Reconfigure implements held: a reload changes nothing that is bound.
func (unheld) Reconfigure([]address.Part) {}

// routedHost is the host of a service that waits for the tables.
type routedHost struct {
	spreadHost
	service *routed
}

// Stands implements spread.Host.
func (h routedHost) Stands(yes bool) { h.service.stands(yes) }

// Reconfigure implements instance.Reconfigurer.
func (r *routed) Reconfigure(in *instance.Config) { r.configure(in.VIP, true) }

// Begin implements instance.Service.
func (r *routed) Begin(t instance.Term) {
	r.waits.Store(false) // a term begins with nothing that blocks it
	r.stands(false)
	r.servedAddresses.Begin(t)
}

// stands takes in whether the kernel has the tables.
func (r *routed) stands(yes bool) {
	if r.waits.Swap(!yes) == !yes {
		return
	}
	if yes {
		r.blocked(election.Fitness{})
		return
	}
	r.blocked(election.Fitness{Wait: true, Reason: "the tables that spread connections are not there yet", Code: code.NotSpread})
}
