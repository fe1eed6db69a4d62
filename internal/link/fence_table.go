package link

import (
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"
)

const tablePrefix = "keepvip-"

// tableName is one per link, by index, which unlike the name never changes.
func tableName(index int) string { return tablePrefix + strconv.Itoa(index) }

func ourTable(name string) bool {
	_, err := strconv.ParseUint(strings.TrimPrefix(name, tablePrefix), 10, 31)
	return err == nil && strings.HasPrefix(name, tablePrefix)
}

// elementsPerMessage keeps a message's list of elements within the 64 KiB that the length of a netlink attribute can say.
const elementsPerMessage = 500

// Rebuild makes the whole table anew in one transaction, with the groups and tenures that it should have. A tenure that goes on gets its guard
// and, until the next renewal, a whole lease: call it only while the node is entitled to the addresses it holds.
func (f *Fence) Rebuild() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	// Since Linux 6.16 the hook of a link that is not there is accepted, and waits for one of that name.
	ifi, err := net.InterfaceByIndex(f.cfg.Index)
	if err != nil {
		return f.wrap("build", ErrGone)
	}
	f.cfg.Name = ifi.Name
	err = f.rebuild()
	if f.egress && (errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EINVAL)) {
		f.egress = false
		if err = f.rebuild(); err != nil {
			f.egress = true
		}
	}
	switch {
	case errors.Is(err, unix.ENODEV):
		err = ErrGone
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EAFNOSUPPORT), errors.Is(err, unix.EPROTONOSUPPORT), errors.Is(err, unix.EPERM):
		err = fmt.Errorf("%w: %w", ErrNoNftables, err)
	}
	return f.wrap("build", err)
}

func (f *Fence) rebuild() error {
	return f.commit(func(c *nftables.Conn) error {
		// Adding first makes the deletion succeed whether or not there is a table.
		c.AddTable(f.table)
		c.DelTable(f.table)
		c.AddTable(f.table)
		for _, name := range []string{setAddresses4, setAddresses6, setGuard, setLease, setSilent, setClosedIn, setClosedOut} {
			if err := c.AddSet(f.set(name), nil); err != nil {
				return err
			}
		}
		f.putChains(c)
		return errors.Join(f.putGroups(c, f.groups), f.putHeld(c, f.groups, f.held), f.putLeases(c))
	})
}

// putLeases gives each tenure that goes on a lease, because its last renewal is lost with the old table.
func (f *Fence) putLeases(c *nftables.Conn) error {
	var leases []nftables.SetElement
	for id := range f.held {
		leases = append(leases, nftables.SetElement{Key: groupKey(id), Timeout: f.groups[id].Lease})
	}
	return f.addAll(c, setLease, leases)
}

func (f *Fence) chains() []chain {
	if f.egress {
		return append(ingress(), egress()...)
	}
	return ingress()
}

func (f *Fence) putChains(c *nftables.Conn) {
	for _, ch := range f.chains() {
		added := c.AddChain(f.chain(ch.name))
		for _, r := range ch.rules {
			c.AddRule(&nftables.Rule{Table: f.table, Chain: added, Exprs: r})
		}
	}
}

// chain describes a chain: the two that hang on the link, or one that others jump to. On the way in ours comes before other tables, to spare
// them; on the way out after them, because an advertisement that another table drops has not left.
func (f *Fence) chain(name string) *nftables.Chain {
	ch := &nftables.Chain{Name: name, Table: f.table}
	switch name {
	case chainIngress:
		ch.Hooknum, ch.Priority = nftables.ChainHookIngress, nftables.ChainPriorityRef(-500)
	case chainEgress:
		ch.Hooknum, ch.Priority = nftables.ChainHookEgress, nftables.ChainPriorityRef(math.MaxInt32)
	default:
		return ch
	}
	ch.Type, ch.Device = nftables.ChainTypeFilter, f.cfg.Name
	return ch
}

func (f *Fence) set(name string) *nftables.Set {
	s := &nftables.Set{Table: f.table, Name: name, KeyType: nftables.TypeMark}
	switch name {
	case setAddresses4:
		s.KeyType, s.DataType, s.IsMap = nftables.TypeIPAddr, nftables.TypeMark, true
	case setAddresses6:
		s.KeyType, s.DataType, s.IsMap = nftables.TypeIP6Addr, nftables.TypeMark, true
	case setLease:
		s.HasTimeout, s.Dynamic = true, true
	default:
		s.HasTimeout = true
	}
	return s
}

// putGroups replaces the addresses and the rules that renew.
func (f *Fence) putGroups(c *nftables.Conn, groups map[uint32]Group) error {
	if f.egress {
		c.FlushChain(f.chain(chainAdverts))
	}
	for _, r := range f.renewals(groups) {
		c.AddRule(&nftables.Rule{Table: f.table, Chain: f.chain(chainAdverts), Exprs: r})
	}
	return f.replaceAll(c, f.addressElements(groups))
}

func (f *Fence) renewals(groups map[uint32]Group) []match {
	var rules []match
	for _, g := range groups {
		if r := renewal(g); f.egress && r != nil {
			rules = append(rules, r)
		}
	}
	return rules
}

func (f *Fence) addressElements(groups map[uint32]Group) map[string][]nftables.SetElement {
	elements := map[string][]nftables.SetElement{setAddresses4: nil, setAddresses6: nil}
	for id, g := range groups {
		for _, a := range g.Addresses {
			elements[addressesOf(a)] = append(elements[addressesOf(a)], nftables.SetElement{Key: a.AsSlice(), Val: groupKey(id)})
		}
	}
	return elements
}

// putHeld replaces the guards and what is shut. All have their whole time again, which does no harm: a tenure that goes on is held again
// within it anyway.
func (f *Fence) putHeld(c *nftables.Conn, groups map[uint32]Group, held map[uint32]Part) error {
	elements := map[string][]nftables.SetElement{setGuard: nil, setSilent: nil, setClosedIn: nil, setClosedOut: nil}
	for id, shut := range held {
		e := nftables.SetElement{Key: groupKey(id), Timeout: groups[id].Guard}
		for name, part := range map[string]Part{setGuard: shut, setSilent: Discovery, setClosedIn: In, setClosedOut: Out} {
			if shut&part == part {
				elements[name] = append(elements[name], e)
			}
		}
	}
	return f.replaceAll(c, elements)
}

// replaceAll makes each set hold exactly these elements.
func (f *Fence) replaceAll(c *nftables.Conn, sets map[string][]nftables.SetElement) error {
	for name, es := range sets {
		c.FlushSet(f.set(name))
		if err := f.addAll(c, name, es); err != nil {
			return err
		}
	}
	return nil
}

func (f *Fence) addAll(c *nftables.Conn, set string, elements []nftables.SetElement) error {
	for part := range slices.Chunk(elements, elementsPerMessage) {
		if err := c.SetAddElements(f.set(set), part); err != nil {
			return err
		}
	}
	return nil
}
