package follower

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"

	"github.com/keepvip/keepvip/internal/kernel/intercept"
	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/kernel/nfttables"
	"github.com/keepvip/keepvip/internal/serve/localproxy"
	"github.com/keepvip/keepvip/members/subscription"
)

// Kernel is the host by its kernel. Watch tells of what others do to its tables; nil: nobody does.
type Kernel struct {
	Log   *slog.Logger
	Watch *nfttables.Watch
}

// Client implements Host.
func (Kernel) Client(port uint16, signed bool) (client, error) {
	return subscription.OpenClient(port, signed)
}

// Open implements Host.
func (k Kernel) Open(name string) (plane, error) {
	t, err := intercept.Open(name, k.Watch)
	if err != nil {
		return nil, err // no nil pointer in an interface
	}
	return t, nil
}

// Cleanup implements Host.
func (Kernel) Cleanup(keep ...string) ([]string, error) { return intercept.Cleanup(keep...) }

// Listen implements Host.
func (k Kernel) Listen(at string, fallback []netip.AddrPort) (localproxy.Listener, error) {
	out := listener{Proxy: &localproxy.Proxy{Fallback: fallback, Log: k.Log}}
	var err error
	if out.owners, err = link.OpenOwners(); err == nil { // otherwise all users are one
		out.Owner = out.owners.Name
	}
	if err := out.Open(at); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", at, err), out.owners.Close())
	}
	return out, nil
}

// listener is a Proxy that knows the users of this host.
type listener struct {
	*localproxy.Proxy
	owners *link.Owners // nil: all users are one
}

// Close implements localproxy.Listener.
func (l listener) Close(ctx context.Context) error {
	return errors.Join(l.Proxy.Close(ctx), l.owners.Close())
}
