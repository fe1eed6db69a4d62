package link

import (
	"errors"
	"fmt"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"
)

// CleanupFences takes away every fence that any run of ours left in this network namespace, and returns the names of their tables. Tables of
// others are not touched. A kernel without nftables has none. It needs CAP_NET_ADMIN.
func CleanupFences() ([]string, error) {
	c, err := nftables.New()
	if err != nil {
		return nil, fmt.Errorf("link: list nftables tables: %w", err)
	}
	tables, err := c.ListTablesOfFamily(nftables.TableFamilyNetdev)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EPROTONOSUPPORT) || errors.Is(err, unix.EAFNOSUPPORT) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("link: list nftables tables: %w", err)
	}
	var gone []string
	for _, t := range tables {
		if t.Family != nftables.TableFamilyNetdev || !ourTable(t.Name) {
			continue
		}
		c.DelTable(t)
		if err := c.Flush(); err != nil && !errors.Is(err, unix.ENOENT) {
			return gone, fmt.Errorf("link: delete table netdev %s: %w", t.Name, err)
		}
		gone = append(gone, t.Name)
	}
	return gone, nil
}
