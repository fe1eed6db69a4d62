package fence

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
)

// Linux answers an ARP request for any of its addresses on every link (net.ipv4.conf.*.arp_ignore is 0), so a second link on the same
// segment would go on answering for a holder that is dead. A second table, of the arp family, ends that: while a group has its guard, only
// its own link answers for it, as with arp_ignore 1 for these addresses alone. This is right in normal operation, too, because keepvip
// announces that link's MAC. IPv6 answers on the link that has the address in any case. Packets to the addresses are not looked at.
//
// What the table holds:
//
//	map addresses4   address -> jump to the chain of its group
//	set guardN       of group N; timed; the operation of an ARP request is in it, or it is not
//	chain input      hooked where this machine hears ARP, not where a bridge forwards it
const chainInput = "input"

// arpInput is NF_ARP_IN.
const arpInput = 0

// arpRequest is the operation as the sets have it (RFC 826).
var arpRequest = []byte{0, 1}

// putARP makes the table anew, with what is left of the guards. A kernel without it is left alone.
func (f *Fence) putARP(c *nftables.Conn, groups map[uint32]Group, guards map[uint32]time.Duration) error {
	if !f.arp {
		return nil
	}
	t := f.arpTable()
	clearTable(c, t)
	c.AddTable(t)
	if err := c.AddSet(f.arpAddresses(), nil); err != nil {
		return err
	}
	c.AddChain(f.arpChain(chainInput))
	addRules(c, f.arpChain(chainInput), arpInputRules(f.key()))
	var errs []error
	for _, g := range sorted(groups) {
		errs = append(errs, c.AddSet(f.arpGuard(g.ID), nil))
		addRules(c, c.AddChain(f.arpChain(chainOf(g.ID))), arpVerdicts(g.ID))
		errs = append(errs, f.putARPGuard(c, g.ID, guards[g.ID]))
	}
	for part := range slices.Chunk(addressElements(groups)[mapAddresses4], elementsPerMessage) {
		errs = append(errs, c.SetAddElements(f.arpAddresses(), part))
	}
	return errors.Join(errs...)
}

// putARPGuard starts a group's guard, or with no time stops it.
func (f *Fence) putARPGuard(c *nftables.Conn, id uint32, left time.Duration) error {
	if !f.arp {
		return nil
	}
	c.FlushSet(f.arpGuard(id))
	if left <= 0 {
		return nil
	}
	return c.SetAddElements(f.arpGuard(id), []nftables.SetElement{{Key: arpRequest, Timeout: left}})
}

// arpInputRules pick the requests for an address that come in on another link than that of that index.
func arpInputRules(index []byte) []match {
	return []match{and(
		incoming.load(), match{&expr.Cmp{Op: expr.CmpOpNeq, Register: register, Data: index}},
		arpOperation.is(expr.CmpOpEq, arpRequest...), arpTarget.load(), judge(mapAddresses4),
	)}
}

func arpVerdicts(id uint32) []match {
	return []match{and(arpOperation.load(), match{&expr.Lookup{SourceRegister: register, SetName: guardOf(id)}}, drop())}
}

// inspectARP compares all of the table with what it should be.
func (f *Fence) inspectARP(c *nftables.Conn) error {
	if !f.arp {
		return nil
	}
	if err := inspectChain(c, f.arpChain(chainInput), 1); err != nil {
		return err
	}
	for id := range f.groups {
		if err := inspectChain(c, f.arpChain(chainOf(id)), 1); err != nil {
			return err
		}
	}
	if err := inspectAddresses(c, f.arpAddresses(), addressElements(f.groups)[mapAddresses4]); err != nil {
		return err
	}
	for id := range maps.Keys(f.held) {
		if got, err := c.GetSetElements(f.arpGuard(id)); err != nil || len(got) == 0 {
			return errors.Join(fmt.Errorf("table arp: set %s: the guard is missing", guardOf(id)), err)
		}
	}
	return nil
}

// OtherLinks reports whether the fence keeps the node's other links from answering ARP for the addresses.
func (f *Fence) OtherLinks() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.arp
}
