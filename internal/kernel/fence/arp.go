package fence

import (
	"encoding/binary"
	"errors"
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
//
// Where a link of its own has the addresses, because of their virtual MAC, the link below it is another one. Nobody may ever learn its MAC as that of
// the addresses: so the guard of such a group is there while the node stands by, too.
const chainInput = "input"

// arpInput is NF_ARP_IN.
const arpInput = 0

// arpRequest is the operation as the sets have it (RFC 826).
var arpRequest = []byte{0, 1}

// arpTable is the table of the arp family of one fence as it is to be in the kernel. As with linkTable, its methods are parts of a transaction.
type arpTable struct {
	table *nftables.Table // of the same name as that of the link
	link  []byte          // which alone answers, as rules have it
	able  bool            // the kernel has tables of that family; without, nothing is put
}

func (t *arpTable) chain(name string) *nftables.Chain {
	ch := &nftables.Chain{Name: name, Table: t.table}
	if name == chainInput {
		ch.Type, ch.Hooknum, ch.Priority = nftables.ChainTypeFilter, nftables.ChainHookRef(arpInput), nftables.ChainPriorityFilter
	}
	return ch
}

func (t *arpTable) addresses() *nftables.Set {
	return &nftables.Set{Table: t.table, Name: mapAddresses4, KeyType: nftables.TypeIPAddr, DataType: nftables.TypeVerdict, IsMap: true}
}

func (t *arpTable) guard(id uint32) *nftables.Set {
	return &nftables.Set{Table: t.table, Name: guardOf(id), KeyType: nftables.TypeARPOp, HasTimeout: true, Dynamic: true}
}

// put makes the table anew, with what is left of the guards. A kernel without it is left alone.
func (t *arpTable) put(c *nftables.Conn, groups map[uint32]Group, guards map[uint32]time.Duration) error {
	if !t.able {
		return nil
	}
	clearTable(c, t.table)
	c.AddTable(t.table)
	if err := c.AddSet(t.addresses(), nil); err != nil {
		return err
	}
	c.AddChain(t.chain(chainInput))
	addRules(c, t.chain(chainInput), arpInputRules())
	var errs []error
	for _, g := range sorted(groups) {
		errs = append(errs, c.AddSet(t.guard(g.ID), nil))
		addRules(c, c.AddChain(t.chain(chainOf(g.ID))), arpVerdicts(g.ID, t.answering(g)))
		errs = append(errs, t.putGuard(c, g.ID, guards[g.ID]))
	}
	for part := range slices.Chunk(addressElements(groups)[mapAddresses4], elementsPerMessage) {
		errs = append(errs, c.SetAddElements(t.addresses(), part))
	}
	return errors.Join(errs...)
}

// putGuard starts a group's guard, or with no time stops it.
func (t *arpTable) putGuard(c *nftables.Conn, id uint32, left time.Duration) error {
	if !t.able {
		return nil
	}
	c.FlushSet(t.guard(id))
	if left <= 0 {
		return nil
	}
	return c.SetAddElements(t.guard(id), []nftables.SetElement{{Key: arpRequest, Timeout: left}})
}

// answering is the link that alone answers for a group, as rules have it.
func (t *arpTable) answering(g Group) []byte {
	if g.Answers != 0 {
		return binary.NativeEndian.AppendUint32(nil, uint32(g.Answers))
	}
	return t.link
}

// arpInputRules pick the requests for an address.
func arpInputRules() []match {
	return []match{and(arpOperation.is(expr.CmpOpEq, arpRequest...), arpTarget.load(), judge(mapAddresses4))}
}

// arpVerdicts drops those that come in on another link than that of that index.
func arpVerdicts(id uint32, index []byte) []match {
	return []match{and(
		incoming.load(), match{&expr.Cmp{Op: expr.CmpOpNeq, Register: register, Data: index}},
		arpOperation.load(), match{&expr.Lookup{SourceRegister: register, SetName: guardOf(id)}}, drop(),
	)}
}

// standbyGuard is how long the guard of a group lasts that stands by; 0: it has none.
func standbyGuard(g Group) time.Duration {
	if g.Answers == 0 {
		return 0
	}
	return standbyFor(g.Guard)
}
