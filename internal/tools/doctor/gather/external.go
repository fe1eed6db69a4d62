package gather

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/tools/doctor"
)

// externals looks at the entries that are somebody else's, all at the same time: what they resolve to, whether somebody takes connections there, and
// who answers on the link for what the nodes would hold.
func externals(ctx context.Context, o Options, links []link.Link, resolve func(context.Context, string) []netip.Addr) []doctor.External {
	var out []doctor.External
	for _, v := range o.Config.VIPs {
		if v.External() {
			out = append(out, doctor.External{VIP: v})
		}
	}
	var wg sync.WaitGroup
	for i := range out {
		e := &out[i]
		wg.Go(func() {
			host, port := e.VIP.Endpoint()
			if a, err := netip.ParseAddr(host); err == nil {
				e.Resolves = []netip.Addr{a}
			} else {
				e.Resolves = resolve(ctx, host)
			}
			e.Err = anyConnects(ctx, e.Resolves, port)
		})
		wg.Go(func() { e.Claims = claims(ctx, e.VIP, links, o.Listen) })
	}
	wg.Wait()
	return out
}

// anyConnects is nil if a connection is made to one of these; they are tried one after the other.
func anyConnects(ctx context.Context, addrs []netip.Addr, port uint16) error {
	var errs []error
	for _, a := range addrs {
		d := net.Dialer{Timeout: quick}
		c, err := d.DialContext(ctx, "tcp", net.JoinHostPort(a.String(), strconv.Itoa(int(port))))
		if err == nil {
			return c.Close()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// claims are of who answers for the addresses of v, where a network of this host may have them.
func claims(ctx context.Context, v config.VIP, links []link.Link, listen time.Duration) []doctor.Claim {
	l, err := link.Choose(links, v.First(), v.Interface)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, listen)
	defer cancel()
	n := &notes{}
	askWho(ctx, net.Interface{Index: l.Index, Name: l.Name, HardwareAddr: l.MAC}, place{link: l, ipv4: v.First().Is4(), vips: []config.VIP{v}}, n)
	return n.facts().Claims
}
