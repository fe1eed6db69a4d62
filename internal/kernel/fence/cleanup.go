package fence

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/kernel/nfttables"
)

// Cleanup takes away every fence and every forwarding table that any run of ours left in this network namespace, and returns their
// tables, as "netdev keepvip-2". Tables of others are not touched. A kernel without nftables has none. It needs CAP_NET_ADMIN.
func Cleanup() ([]string, error) {
	return CleanupExcept(func(int) bool { return false })
}

// CleanupExcept is Cleanup for a start: it leaves the fence of a link of which used says that it is going to have one, which takes the place
// of that without a gap.
func CleanupExcept(used func(index int) bool) ([]string, error) {
	families := []byte{unix.NFPROTO_NETDEV, unix.NFPROTO_ARP, unix.NFPROTO_IPV4, unix.NFPROTO_IPV6}
	gone, err := nfttables.Delete(families, func(family byte, name string) bool {
		if family == unix.NFPROTO_IPV4 || family == unix.NFPROTO_IPV6 {
			return ourForwarding(name)
		}
		index, ok := linkOf(name)
		return ok && !used(index)
	})
	if err != nil {
		return gone, fmt.Errorf("fence: %w", err)
	}
	return gone, nil
}
