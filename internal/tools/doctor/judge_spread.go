package doctor

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/conntrack"
	"github.com/keepvip/keepvip/internal/kernel/link"
)

const (
	// TCPLoose, ConntrackCount and ConntrackMax are paths below /proc/sys. The kernel has them while it tracks connections.
	TCPLoose       = "net/netfilter/nf_conntrack_tcp_loose"
	ConntrackCount = "net/netfilter/nf_conntrack_count"
	ConntrackMax   = "net/netfilter/nf_conntrack_max"
	// sendModule sends packets on at the link. Without it that is done a little later.
	sendModule = "nft_fwd_netdev"
)

// SpreadModules are the kernel's modules by which connections are spread over the members: all but the last one have to be there, of those
// that are of one family (behind their names) where an address is.
func SpreadModules() []string {
	return []string{
		"nf_conntrack", "nft_ct", "nft_hash", "nft_nat", "nft_chain_nat",
		"nft_dup" + ofIPv4, "nft_fib" + ofIPv4, "nft_dup" + ofIPv6, "nft_fib" + ofIPv6, sendModule,
	}
}

const (
	ofIPv4 = "_ipv4"
	ofIPv6 = "_ipv6"
)

// lacking are the modules without which nothing of v is spread.
func lacking(all []string, v config.VIP) []string {
	translates := v.Spread.Via == config.ViaMasquerade // and sends nothing on
	has := func(ipv4 bool) bool {
		return slices.ContainsFunc(v.Addresses, func(a netip.Prefix) bool { return a.Addr().Is4() == ipv4 })
	}
	return slices.DeleteFunc(slices.Clone(all), func(m string) bool {
		return m == sendModule || translates && strings.HasPrefix(m, "nft_dup") || strings.HasSuffix(m, ofIPv4) && !has(true) || strings.HasSuffix(m, ofIPv6) && !has(false)
	})
}

// judgeSpread looks at what spreading connections over the members wants, where they are spread.
func judgeSpread(out *findings, f Facts, v config.VIP, l link.Link) {
	if v.Spread.Via == config.ViaOff || v.Spread.Via == "" {
		return
	}
	direct := v.Spread.Via == config.ViaDirect
	say := out.about(v.Name, "")
	missing := lacking(f.NoModules, v)
	switch {
	case len(missing) > 0:
		say(code.SpreadModule, Error, "this kernel has no module %s, so no connection is spread over the members", strings.Join(missing, " and "))
	case direct && slices.Contains(f.NoModules, sendModule):
		say(code.SpreadModule, Note, "this kernel has no module %s, so a packet takes some microseconds longer to the member that serves it", sendModule)
	}
	if n, known := f.Sysctls[TCPLoose]; known && n == 0 && direct {
		say(code.NoSecondChance, Warning, "nf_conntrack_tcp_loose is 0: a connection whose member dies hangs")
	}
	if f.LargeReceive[l.Name] && direct {
		say(code.LargeReceive, Error, "%s joins packets as they come in (large-receive-offload): what is for another member is lost", l.Name)
	}
}

// judgeTracking looks whether the kernel has room for connections, where it tracks any: it drops those of the address, too, whether they are spread or not.
func judgeTracking(out *findings, f Facts) {
	count, most := int(f.Sysctls[ConntrackCount]), int(f.Sysctls[ConntrackMax])
	if conntrack.AlmostFull(count, most) {
		out.add(Finding{
			Code: code.ConntrackFull, Severity: Warning, What: fmt.Sprintf("the kernel tracks %d connections, of %d at most", count, most),
			Remedy: conntrack.MoreRoom(most),
		})
	}
}

// sysctlName makes of a path the name by which sysctl takes it: a dot in an interface's name, as that of a VLAN, is a slash there.
func sysctlName(path string) string { return strings.NewReplacer("/", ".", ".", "/").Replace(path) }

// judgeForwarding looks at what the kernel does with packets that a holder translates for other hosts.
func judgeForwarding(out *findings, f Facts, v config.VIP, l link.Link) {
	if v.Spread.Via != config.ViaMasquerade {
		return
	}
	say := func(s Severity, format string, args ...any) {
		out.say(v.Name, code.NotForwarding, s, format, args...)
	}
	for _, family := range []struct {
		ipv4 bool
		path string
	}{{true, "net/ipv4/conf/" + l.Name + "/forwarding"}, {false, "net/ipv6/conf/all/forwarding"}} {
		has := slices.ContainsFunc(v.Addresses, func(a netip.Prefix) bool { return a.Addr().Is4() == family.ipv4 })
		if n, known := f.Sysctls[family.path]; has && known && n == 0 {
			say(Error, "%s is 0: as the holder this node serves all connections by itself", sysctlName(family.path))
		}
	}
	for _, chain := range f.ForwardDrops {
		say(Note, "the packet filter drops what it is not told to forward (%s): the members' ports have to be among what it passes", chain)
	}
}
