package follower

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/internal/kernel/intercept"
	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/kernel/nfttables"
	"github.com/keepvip/keepvip/internal/serve/localproxy"
)

// lifetime is how long the kernel goes on alone. After that connections go to the virtual address on the wire.
const lifetime = 6 * time.Second

// Kernel is the host by its kernel. Watch tells of what others do to its tables; nil: nobody does.
type Kernel struct {
	Log   *slog.Logger
	Watch *nfttables.Watch
}

// Open implements Host.
func (k Kernel) Open(name string) (plane, error) {
	t, err := intercept.Open(name, k.Watch)
	if err != nil {
		return nil, err
	}
	return table{t}, nil
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

// table is a Plane by nftables.
type table struct{ *intercept.Table }

// Apply implements Plane.
func (t table) Apply(all []intercept.Target) error {
	return t.Table.Apply(intercept.Config{Targets: all, Lifetime: lifetime})
}

// Renew implements Plane.
func (t table) Renew() error { return t.Table.Renew(lifetime) }

// Destroy implements Plane.
func (t table) Destroy(dead ...netip.Addr) (int, error) {
	ended, err := t.Table.Destroy(dead...)
	return ended.Sockets, err
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
