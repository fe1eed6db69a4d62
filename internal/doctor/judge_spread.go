package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keepvip/keepvip/internal/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/link"
)

const (
	// TCPLoose, ConntrackCount and ConntrackMax are paths below /proc/sys. The kernel has them while it tracks connections.
	TCPLoose       = "net/netfilter/nf_conntrack_tcp_loose"
	ConntrackCount = "net/netfilter/nf_conntrack_count"
	ConntrackMax   = "net/netfilter/nf_conntrack_max"
	// sendModule sends packets on at the link. Without it that is done a little later.
	sendModule = "nft_fwd_netdev"
)

// SpreadModules are the kernel's modules by which connections are spread over the members: all but the last one have to be there.
func SpreadModules() []string {
	return []string{"nf_conntrack", "nft_ct", "nft_hash", "nft_nat", sendModule}
}

// judgeSpread looks at what spreading connections over the members wants, where they are spread.
func judgeSpread(out *findings, f Facts, v config.VIP, l link.Link) {
	if v.Spread.Via != config.ViaDirect {
		return
	}
	say := func(c code.Code, s Severity, format string, args ...any) {
		out.add(Finding{Code: c, Severity: s, VIP: v.Name, What: fmt.Sprintf(format, args...)})
	}
	missing := slices.DeleteFunc(slices.Clone(f.NoModules), func(m string) bool { return m == sendModule })
	switch {
	case len(missing) > 0:
		say(code.SpreadModule, Error, "this kernel has no module %s, so no connection is spread over the members", strings.Join(missing, " and "))
	case len(f.NoModules) > 0:
		say(code.SpreadModule, Note, "this kernel has no module %s, so a packet takes some microseconds longer to the member that serves it", sendModule)
	}
	if n, known := f.Sysctls[TCPLoose]; known && n == 0 {
		say(code.NoSecondChance, Warning, "nf_conntrack_tcp_loose is 0: a connection whose member changes hangs")
	}
	if f.LargeReceive[l.Name] {
		say(code.LargeReceive, Error, "%s joins packets as they come in (large-receive-offload): what is for another member is lost", l.Name)
	}
	if count, most := f.Sysctls[ConntrackCount], f.Sysctls[ConntrackMax]; most > 0 && count >= most/10*9 {
		say(code.ConntrackFull, Warning, "the kernel tracks %d connections, of %d at most", count, most)
	}
}
