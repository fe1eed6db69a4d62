package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/keepvip/keepvip/arp"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/spreadtables"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/internal/serve/service/spread"
)

var (
	_ spread.Host  = spreadHost{}
	_ spread.Plane = (*spreadtables.Tables)(nil)
)

// removeSpread takes away what an earlier run has spread and this one does not.
func (b *builder) removeSpread(vips []config.VIP) error {
	var keep []string
	for _, v := range vips {
		keep = append(keep, spread.Tables(v)...)
	}
	gone, err := spreadtables.Cleanup(keep...)
	if len(gone) > 0 {
		b.log.Info("tables of what an earlier run has spread removed", "tables", gone)
	}
	return err
}

// spreadHost is the host as a spread service sees it.
type spreadHost struct {
	*host
	build    *builder
	backends *company // of the service
}

// Backends implements spread.Host.
func (h spreadHost) Backends(v config.VIP) []*spread.Backend { return h.build.backends(v, h.backends) }

// Followers implements spread.Host.
func (h spreadHost) Followers() spread.Followers {
	if h.build.followers == nil {
		return nil // no nil pointer in an interface
	}
	return h.build.followers
}

// Keyed implements spread.Host.
func (h spreadHost) Keyed() bool { return h.build.keyed != nil && h.build.keyed() }

// Stays implements spread.Host.
func (h spreadHost) Stays(name string) bool {
	newest := h.build.newest.Load()
	if newest == nil {
		return false
	}
	v, _ := newest.VIP(name)
	return len(v.SpreadPorts()) > 0
}

// Stands implements spread.Host: an address that is bound waits for no tables.
func (spreadHost) Stands(bool) {}

// Open implements spread.Host.
func (h spreadHost) Open(name string) (spread.Plane, error) { return spreadtables.Open(name, h.watch) }

// Ask implements spread.Host.
func (h spreadHost) Ask(ctx context.Context, p instance.Place, member netip.Addr) error {
	asker, err := arp.OpenAsker(&net.Interface{Index: p.Index, Name: p.Name}, p.Source, member.WithZone(""))
	if err != nil {
		return err
	}
	defer asker.Close()
	_, err = asker.Ask(ctx)
	if errors.Is(err, arp.ErrSilent) {
		return h.silent(p, err)
	}
	return err
}

// silent is the error for a host that has not answered by the link at p. The kernel drops what is sent without a carrier, and says nothing of it.
func (h spreadHost) silent(p instance.Place, err error) error {
	if !h.seen.now().up(p) {
		return fmt.Errorf("%s is down", p.Name)
	}
	return fmt.Errorf("%w: %w", spread.ErrSilent, err)
}
