package unbound

import (
	"context"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// Service does nothing to the host. The zero Service is ready.
type Service struct{}

var _ instance.Service = Service{}

// Begin implements instance.Service.
func (Service) Begin(instance.Term) {}

// Apply implements instance.Service. Nothing can fail.
func (Service) Apply(context.Context, election.Decision) error { return nil }

// HostChanged implements instance.Service.
func (Service) HostChanged(instance.Place) {}

// End implements instance.Service.
func (Service) End() {}

// Status implements instance.Service. There is nothing that a fence would have to silence.
func (Service) Status() instance.ServiceStatus {
	return instance.ServiceStatus{Fence: instance.FenceStatus{Unbound: true, Standing: true}}
}

// Close implements instance.Service.
func (Service) Close() error { return nil }
