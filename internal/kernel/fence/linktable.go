package fence

import (
	"errors"
	"slices"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
)

// elementsPerMessage keeps a message's list of elements within the 64 KiB that the length of a netlink attribute can say.
const elementsPerMessage = 400

// linkTable is the table of one link as it is to be in the kernel. Its methods are parts of a transaction: each adds to it what makes or changes
// a part of the table, and knows neither what the kernel has nor who asks.
type linkTable struct {
	layout
	egress bool // the kernel has the egress hook
	mark   Mark // of the packets that end the leases; 0: none do
	routes bool // and knows there which addresses are its own
	// orphans is when the time of the set of that name began; zero: it is not known to have begun.
	orphans time.Time
}

// create makes the table anew, with groups of which none is held.
func (t *linkTable) create(c *nftables.Conn, groups map[uint32]Group) error {
	clearTable(c, t.table)
	c.AddTable(t.table)
	errs := t.addLeases(c, sorted(groups))
	for _, name := range groupMaps {
		if err := c.AddSet(t.addresses(name), nil); err != nil {
			return err
		}
	}
	if err := c.AddSet(t.timer(setOrphans), nil); err != nil {
		return err
	}
	// From the start on: what an earlier run has left may still speak.
	if err := t.putTime(c, setOrphans, orphanTime); err != nil {
		return err
	}
	t.orphans = time.Now()
	if t.egress {
		c.AddChain(t.chain(chainAdverts))
		if t.ends() {
			c.AddChain(t.chain(chainEnded))
		}
		c.AddChain(t.chain(chainEgress))
	}
	c.AddChain(t.chain(chainIngress))
	t.putBase(c, groups)
	for _, g := range sorted(groups) {
		errs = append(errs, t.addGroup(c, g))
	}
	return errors.Join(append(errs, t.putAddresses(c, groups))...)
}

// putBase replaces the rules of the chains that hang on the link.
func (t *linkTable) putBase(c *nftables.Conn, groups map[uint32]Group) {
	in, out := t.chain(chainIngress), t.chain(chainEgress)
	c.FlushChain(in)
	addRules(c, in, familiesOf(groups).ingress())
	if t.egress {
		c.FlushChain(out)
		addRules(c, out, t.egressRules(groups))
	}
}

// egressRules are those of the chain that hangs on the way out.
func (t *linkTable) egressRules(groups map[uint32]Group) []match {
	rules := familiesOf(groups).egress()
	if t.ends() {
		rules = append(rules, t.mark.endedRule())
	}
	return rules
}

func addRules(c *nftables.Conn, ch *nftables.Chain, rules []match) {
	for _, r := range rules {
		c.AddRule(&nftables.Rule{Table: ch.Table, Chain: ch, Exprs: r})
	}
}

// addLeases adds the lease sets of groups that the table does not have yet. They come before all else that is added with them: the kernel finds
// a set by going through those of the table from the oldest on, and those of leases are the ones that it is asked for all the time.
func (t *linkTable) addLeases(c *nftables.Conn, groups []Group) (errs []error) {
	for _, g := range groups {
		errs = append(errs, c.AddSet(t.timer(leaseOf(g.ID)), nil))
	}
	return errs
}

// addGroup adds a group that the table does not have yet, all but its addresses and its lease.
func (t *linkTable) addGroup(c *nftables.Conn, g Group) error {
	errs := []error{c.AddSet(t.timer(guardOf(g.ID)), nil)}
	if t.canStandBy() {
		errs = append(errs, c.AddSet(t.timer(standbyOf(g.ID)), nil))
	}
	for _, name := range shutSets(g.ID) {
		errs = append(errs, c.AddSet(t.toggle(name), nil))
	}
	errs = append(errs, t.addSpread(c, g))
	addRules(c, c.AddChain(t.chain(chainOf(g.ID))), t.rules(g))
	t.addRenewal(c, g)
	return errors.Join(errs...)
}

// addRenewal adds what renews the lease of a group, and what ends it.
func (t *linkTable) addRenewal(c *nftables.Conn, g Group) {
	if r := renewal(g); t.egress && r != nil {
		addRules(c, t.chain(chainAdverts), []match{r})
	}
	if t.ends() {
		addRules(c, t.chain(chainEnded), []match{endLease(g.ID)})
	}
}

// flushRenewals takes away what addRenewal has added for all groups.
func (t *linkTable) flushRenewals(c *nftables.Conn) {
	if t.egress {
		c.FlushChain(t.chain(chainAdverts))
	}
	if t.ends() {
		c.FlushChain(t.chain(chainEnded))
	}
}

// deleteGroup takes away what addGroup added, except for its renewal, which goes with those of all others.
func (t *linkTable) deleteGroup(c *nftables.Conn, g Group) error {
	id := g.ID
	c.FlushChain(t.chain(chainOf(id)))
	c.DelChain(t.chain(chainOf(id)))
	c.DelSet(t.timer(guardOf(id)))
	c.DelSet(t.timer(leaseOf(id)))
	if t.canStandBy() {
		c.DelSet(t.timer(standbyOf(id)))
	}
	for _, name := range shutSets(id) {
		c.DelSet(t.toggle(name))
	}
	return t.deleteSpread(c, g)
}

// putAddresses replaces the addresses of all groups.
func (t *linkTable) putAddresses(c *nftables.Conn, groups map[uint32]Group) error {
	for name, elements := range addressElements(groups) {
		for part := range slices.Chunk(elements, elementsPerMessage) {
			if err := c.SetAddElements(t.addresses(name), part); err != nil {
				return err
			}
		}
	}
	return nil
}

func addressElements(groups map[uint32]Group) map[string][]nftables.SetElement {
	elements := map[string][]nftables.SetElement{}
	for id, g := range groups {
		put := func(name string, key []byte) {
			judge := &expr.Verdict{Kind: expr.VerdictJump, Chain: chainOf(id)}
			elements[name] = append(elements[name], nftables.SetElement{Key: key, VerdictData: judge})
		}
		for _, a := range g.Addresses {
			put(addressesOf(a), a.AsSlice())
		}
		if len(g.MAC) > 0 {
			put(mapMACs, g.MAC)
		}
	}
	return elements
}

// putTimers starts a group's guard again, or with no time stops it, and changes what is shut of the group.
func (t *linkTable) putTimers(c *nftables.Conn, g Group, was, shut part) error {
	var errs []error
	for part, name := range shutSets(g.ID) {
		if was&part == shut&part {
			continue
		}
		change := c.SetAddElements
		if shut&part == 0 {
			change = c.SetDeleteElements
		}
		errs = append(errs, change(t.toggle(name), []nftables.SetElement{{Key: t.key()}}))
	}
	if g.Guard > 0 && time.Since(t.orphans) > orphanTime/20 {
		errs = append(errs, t.putTime(c, setOrphans, orphanTime))
		t.orphans = time.Now()
	}
	return errors.Join(append(errs, t.putTime(c, guardOf(g.ID), g.Guard))...)
}

// putTime starts a timer, or with no time stops it. It empties the set first, because before Linux 6.12 adding an element again does not start
// its time again.
func (t *linkTable) putTime(c *nftables.Conn, timer string, left time.Duration) error {
	c.FlushSet(t.timer(timer))
	if left <= 0 {
		return nil
	}
	return c.SetAddElements(t.timer(timer), []nftables.SetElement{{Key: t.key(), Timeout: left}})
}

// cut ends the leases of groups.
func (t *linkTable) cut(c *nftables.Conn, ids []uint32) error {
	var errs []error
	for _, id := range ids {
		errs = append(errs, t.putTime(c, leaseOf(id), 0))
	}
	return errors.Join(errs...)
}
