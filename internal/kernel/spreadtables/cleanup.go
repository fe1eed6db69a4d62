package spreadtables

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/kernel/nfttables"
)

// families are those that tables are in.
var families = []byte{unix.NFPROTO_NETDEV, unix.NFPROTO_IPV4, unix.NFPROTO_IPV6}

// Cleanup takes away the tables of every entry that any run has left in this network namespace, but for those to keep, and returns them, as
// "netdev keepvip-spread-api". Tables of others are not touched. A kernel without nftables has none.
func Cleanup(keep ...string) ([]string, error) {
	gone, err := nfttables.DeleteEntries(families, tablePrefix, keep)
	if err != nil {
		return gone, fmt.Errorf("spreadtables: %w", err)
	}
	return gone, nil
}
