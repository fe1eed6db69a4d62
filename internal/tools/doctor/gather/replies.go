package gather

import (
	"net/netip"
	"slices"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/node/replies"
	"github.com/keepvip/keepvip/internal/tools/doctor"
)

// lostReplies is, by the name of an entry, how what is said from an address of it leaves this host.
func lostReplies(cfg *config.Config, links []link.Link, looker *replies.Looker) map[string]doctor.Replies {
	var virtual []netip.Addr
	for _, v := range cfg.VIPs {
		virtual = append(virtual, v.Bare()...)
	}
	own := link.Without(links, virtual)
	bound := func(a netip.Addr) bool { return link.Have(links, a) }
	out := map[string]doctor.Replies{}
	for _, v := range cfg.VIPs {
		lost, _ := looker.Of(&v, own, bound)
		byRule := slices.ContainsFunc(v.Addresses, func(p netip.Prefix) bool { return looker.ByRule(p.Addr()) })
		out[v.Name] = doctor.Replies{Lost: lost.Reason, Remedy: lost.Remedy, ByRule: byRule || lost.Reason != ""}
	}
	return out
}
