package intercept

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"
)

// Cleanup takes away the tables of every entry that any run has left in this network namespace, but for those to keep, and returns them, as
// "ip keepvip-intercept-api". Tables of others are not touched. A kernel without nftables has none.
func Cleanup(keep ...string) ([]string, error) {
	return clean(func(name string) bool {
		entry, ours := strings.CutPrefix(name, tablePrefix)
		return ours && entry != "" && !slices.Contains(keep, entry)
	})
}

// families are those that tables are in, with nft's names.
var families = []struct {
	number byte
	name   string
}{
	{unix.NFPROTO_IPV4, "ip"}, {unix.NFPROTO_IPV6, "ip6"},
}

func clean(ours func(string) bool) (gone []string, err error) {
	c, err := nftables.New()
	if err != nil {
		return nil, fmt.Errorf("intercept: list nftables tables: %w", err)
	}
	for _, f := range families {
		tables, err := inFamily(c, f.number, ours)
		if err != nil {
			return gone, err
		}
		for _, t := range tables {
			c.DelTable(t)
			if err := c.Flush(); err != nil && !errors.Is(err, unix.ENOENT) {
				return gone, fmt.Errorf("intercept: delete table %s %s: %w", f.name, t.Name, err)
			}
			gone = append(gone, f.name+" "+t.Name)
		}
	}
	return gone, nil
}

// listed are the families in which there are tables of ours.
func listed(ours func(string) bool) (in []byte, err error) {
	c, err := nftables.New()
	if err != nil {
		return nil, fmt.Errorf("list nftables tables: %w", err)
	}
	for _, f := range families {
		tables, err := inFamily(c, f.number, ours)
		if err != nil {
			return nil, err
		}
		if len(tables) > 0 {
			in = append(in, f.number)
		}
	}
	return in, nil
}

func inFamily(c *nftables.Conn, family byte, ours func(string) bool) ([]*nftables.Table, error) {
	tables, err := c.ListTablesOfFamily(nftables.TableFamily(family))
	if unsupported(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list nftables tables: %w", err)
	}
	return slices.DeleteFunc(tables, func(t *nftables.Table) bool { return t.Family != nftables.TableFamily(family) || !ours(t.Name) }), nil
}

// unsupported tells whether the kernel does not know a family.
func unsupported(err error) bool {
	return errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EPROTONOSUPPORT) || errors.Is(err, unix.EAFNOSUPPORT)
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
		if err != nil && !unsupported(err) {
			return false, fmt.Errorf("list nftables chains: %w", err)
		}
		if slices.ContainsFunc(chains, func(ch *nftables.Chain) bool { return ch.Type == nftables.ChainTypeNAT }) {
			return true, nil
		}
	}
	return false, nil
}
