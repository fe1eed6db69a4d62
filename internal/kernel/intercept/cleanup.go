package intercept

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/kernel/nfttables"
)

// families are those that tables are in.
var families = []byte{unix.NFPROTO_IPV4, unix.NFPROTO_IPV6}

// Cleanup takes away the tables of every entry that any run has left in this network namespace, but for those to keep, and returns them, as
// "ip keepvip-intercept-api". Tables of others are not touched. A kernel without nftables has none.
func Cleanup(keep ...string) ([]string, error) {
	gone, err := nfttables.DeleteEntries(families, tablePrefix, keep)
	if err != nil {
		return gone, fmt.Errorf("intercept: %w", err)
	}
	return gone, nil
}

// translates tells whether there is a table of a family in which addresses are translated, also one of the older iptables.
func translates(family byte) (bool, error) {
	names := map[byte]string{unix.NFPROTO_IPV4: "ip_tables_names", unix.NFPROTO_IPV6: "ip6_tables_names"}[family]
	if old, err := os.ReadFile("/proc/thread-self/net/" + names); err == nil && slices.Contains(strings.Fields(string(old)), "nat") {
		return true, nil
	}
	c, err := nftables.New()
	if err != nil {
		return false, fmt.Errorf("list nftables chains: %w", err)
	}
	for _, f := range []byte{family, unix.NFPROTO_INET} {
		chains, err := c.ListChainsOfTableFamily(nftables.TableFamily(f))
		if err != nil && !nfttables.Unsupported(err) {
			return false, fmt.Errorf("list nftables chains: %w", err)
		}
		if slices.ContainsFunc(chains, func(ch *nftables.Chain) bool { return ch.Type == nftables.ChainTypeNAT }) {
			return true, nil
		}
	}
	return false, nil
}
