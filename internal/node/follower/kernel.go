package follower

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/internal/base/places"
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
func (k Kernel) Listen(at string, fallback []netip.AddrPort) (Proxy, error) {
	listen, err := localproxy.Addresses(at)
	if err != nil {
		return nil, err
	}
	cfg, out := localproxy.Config{Listen: listen, Fallback: fallback, Log: k.Log}, localProxy{}
	if out.owners, err = link.OpenOwners(); err == nil { // otherwise all users are one
		cfg.Owner = out.owners.Name
	}
	if out.Proxy, err = localproxy.Listen(cfg); err != nil {
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

// localProxy is a Proxy by a listener of this process.
type localProxy struct {
	*localproxy.Proxy
	owners *link.Owners // nil: all users are one
}

// Places implements Proxy.
func (p localProxy) Places() places.Count {
	s := p.Stats()
	return places.Count{Most: s.Places, Taken: s.Open, Lost: s.Lost}
}

// Move implements Proxy.
func (p localProxy) Move(at string) error {
	listen, err := localproxy.Addresses(at)
	if err != nil {
		return err
	}
	if err := p.Proxy.Move(listen); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	return nil
}

// Connections implements Proxy.
func (p localProxy) Connections() map[netip.Addr]int {
	out := map[netip.Addr]int{}
	for at, n := range p.Stats().ByBackend {
		out[at.Addr()] += n
	}
	return out
}

// Close implements Proxy. Connections end with it: its process does.
func (p localProxy) Close() error {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	return errors.Join(p.Proxy.Close(ended), p.owners.Close())
}
