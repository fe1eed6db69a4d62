package fence

import (
	"errors"
	"fmt"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"
)

// Cleanup takes away every fence and every forwarding table that any run of ours left in this network namespace, and returns their
// tables, as "netdev keepvip-2". Tables of others are not touched. A kernel without nftables has none. It needs CAP_NET_ADMIN.
func Cleanup() ([]string, error) {
	return CleanupExcept(func(int) bool { return false })
}

// CleanupExcept is Cleanup for a start: it leaves the fence of a link of which used says that it is going to have one, which takes the place
// of that without a gap.
func CleanupExcept(used func(index int) bool) ([]string, error) {
	c, err := nftables.New()
	if err != nil {
		return nil, fmt.Errorf("fence: list nftables tables: %w", err)
	}
	var gone []string
	for _, family := range []nftables.TableFamily{nftables.TableFamilyNetdev, nftables.TableFamilyARP, nftables.TableFamilyIPv4, nftables.TableFamilyIPv6} {
		names, err := cleanFamily(c, family, used)
		gone = append(gone, names...)
		if err != nil {
			return gone, err
		}
	}
	return gone, nil
}

// familyNames are nft's.
var familyNames = map[nftables.TableFamily]string{
	nftables.TableFamilyNetdev: "netdev", nftables.TableFamilyARP: "arp", nftables.TableFamilyIPv4: "ip", nftables.TableFamilyIPv6: "ip6",
}

func cleanFamily(c *nftables.Conn, family nftables.TableFamily, used func(index int) bool) (gone []string, err error) {
	tables, err := c.ListTablesOfFamily(family)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EPROTONOSUPPORT) || errors.Is(err, unix.EAFNOSUPPORT) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("fence: list nftables tables: %w", err)
	}
	for _, t := range tables {
		ours := ourForwarding
		if family == nftables.TableFamilyNetdev || family == nftables.TableFamilyARP {
			ours = func(name string) bool {
				index, ok := linkOf(name)
				return ok && !used(index)
			}
		}
		if t.Family != family || !ours(t.Name) {
			continue
		}
		c.DelTable(t)
		if err := c.Flush(); err != nil && !errors.Is(err, unix.ENOENT) {
			return gone, fmt.Errorf("fence: delete table %s: %w", t.Name, err)
		}
		gone = append(gone, familyNames[family]+" "+t.Name)
	}
	return gone, nil
}
