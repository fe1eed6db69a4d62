package nfttables

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/nftables"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// names are nft's for the families (NFPROTO_*).
var names = map[byte]string{
	unix.NFPROTO_NETDEV: "netdev", unix.NFPROTO_ARP: "arp", unix.NFPROTO_IPV4: "ip", unix.NFPROTO_IPV6: "ip6",
}

// Delete takes away the tables in a list of families that are ours by their name, and returns them, as "ip
// keepvip-spread-api". Tables of others are not touched. A kernel without nftables has none. It needs CAP_NET_ADMIN.
// With an error gone has those before it.
func Delete(list []byte, ours func(family byte, name string) bool) (gone []string, err error) {
	c, err := nftables.New()
	if err != nil {
		return nil, fmt.Errorf("list nftables tables: %w", err)
	}
	var conn Conn
	defer conn.Close()
	for _, family := range list {
		tables, err := find(c, family, func(name string) bool { return ours(family, name) })
		if err != nil {
			return gone, err
		}
		for _, t := range tables {
			id := ID{family, t.Name}
			if err := conn.Commit([]netlink.Message{deleteTable(id)}); err != nil && !errors.Is(err, unix.ENOENT) {
				return gone, fmt.Errorf("delete table %s: %w", id, err)
			}
			gone = append(gone, id.String())
		}
	}
	return gone, nil
}

// DeleteEntries is Delete for tables that each belong to an entry of the configuration and are called prefix and the
// entry's name: all but those of the entries to keep.
func DeleteEntries(list []byte, prefix string, keep []string) (gone []string, err error) {
	return Delete(list, func(_ byte, name string) bool {
		entry, ours := strings.CutPrefix(name, prefix)
		return ours && entry != "" && !slices.Contains(keep, entry)
	})
}

func find(c *nftables.Conn, family byte, ours func(string) bool) ([]*nftables.Table, error) {
	tables, err := c.ListTablesOfFamily(nftables.TableFamily(family))
	if Unsupported(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list nftables tables: %w", err)
	}
	return slices.DeleteFunc(tables, func(t *nftables.Table) bool { return t.Family != nftables.TableFamily(family) || !ours(t.Name) }), nil
}

// Unsupported tells whether an error means that the kernel does not know nftables or a family.
func Unsupported(err error) bool {
	return errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EPROTONOSUPPORT) || errors.Is(err, unix.EAFNOSUPPORT)
}

// Lacks tells whether a transaction failed because the kernel cannot do a part of it.
func Lacks(err error) bool {
	return Unsupported(err) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT)
}
