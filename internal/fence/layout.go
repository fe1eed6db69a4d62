package fence

import (
	"encoding/binary"
	"math"

	"github.com/google/nftables"
)

// layout says how the parts of a fence are called and made, of which there are two tables: that of the link, and that of the arp family.
type layout struct {
	index  int    // of the link
	device string // its name, which may change
	table  *nftables.Table
}

// chain describes a chain: the two that hang on the link, or one that others jump to. On the way in ours comes before other tables, to spare
// them; on the way out after them, because an advertisement that another table drops has not left.
func (l layout) chain(name string) *nftables.Chain {
	ch := &nftables.Chain{Name: name, Table: l.table}
	switch name {
	case chainIngress:
		ch.Hooknum, ch.Priority = nftables.ChainHookIngress, nftables.ChainPriorityRef(-500)
	case chainEgress:
		ch.Hooknum, ch.Priority = nftables.ChainHookEgress, nftables.ChainPriorityRef(math.MaxInt32)
	default:
		return ch
	}
	ch.Type, ch.Device = nftables.ChainTypeFilter, l.device
	return ch
}

// addresses and timer describe the two kinds of sets.
func (l layout) addresses(name string) *nftables.Set {
	s := &nftables.Set{Table: l.table, Name: name, KeyType: nftables.TypeIPAddr, DataType: nftables.TypeVerdict, IsMap: true}
	if name == mapAddresses6 {
		s.KeyType = nftables.TypeIP6Addr
	}
	return s
}

func (l layout) timer(name string) *nftables.Set {
	return &nftables.Set{Table: l.table, Name: name, KeyType: nftables.TypeIFIndex, HasTimeout: true, Dynamic: true}
}

// toggle describes a set that has the link in it, or not.
func (l layout) toggle(name string) *nftables.Set {
	return &nftables.Set{Table: l.table, Name: name, KeyType: nftables.TypeIFIndex}
}

// key is the link, as the sets have it.
func (l layout) key() []byte { return binary.NativeEndian.AppendUint32(nil, uint32(l.index)) }

// arpTable is its table. It has the name of the other one.
func (l layout) arpTable() *nftables.Table {
	return &nftables.Table{Name: l.table.Name, Family: nftables.TableFamilyARP}
}

func (l layout) arpChain(name string) *nftables.Chain {
	ch := &nftables.Chain{Name: name, Table: l.arpTable()}
	if name == chainInput {
		ch.Type, ch.Hooknum, ch.Priority = nftables.ChainTypeFilter, nftables.ChainHookRef(arpInput), nftables.ChainPriorityFilter
	}
	return ch
}

func (l layout) arpAddresses() *nftables.Set {
	s := l.addresses(mapAddresses4)
	s.Table = l.arpTable()
	return s
}

func (l layout) arpGuard(id uint32) *nftables.Set {
	return &nftables.Set{Table: l.arpTable(), Name: guardOf(id), KeyType: nftables.TypeARPOp, HasTimeout: true, Dynamic: true}
}
