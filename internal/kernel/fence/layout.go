package fence

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"github.com/google/nftables"
)

const tablePrefix = "keepvip-"

// tableName is one per link, by index, which unlike the name never changes.
func tableName(index int) string { return tablePrefix + strconv.Itoa(index) }

// linkOf is the link whose fence has that name.
func linkOf(name string) (index int, ours bool) {
	n, err := strconv.ParseUint(strings.TrimPrefix(name, tablePrefix), 10, 31)
	return int(n), err == nil && strings.HasPrefix(name, tablePrefix)
}

// layout says how the parts of the table of a link are called and made.
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

// addresses, timer, toggle and spread describe the kinds of sets.
func (l layout) addresses(name string) *nftables.Set {
	s := &nftables.Set{Table: l.table, Name: name, KeyType: nftables.TypeIPAddr, DataType: nftables.TypeVerdict, IsMap: true}
	switch name {
	case mapAddresses6:
		s.KeyType = nftables.TypeIP6Addr
	case mapMACs:
		s.KeyType = nftables.TypeEtherAddr
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

// spread describes the set of a group's spread ports: link, protocol and port.
func (l layout) spread(id uint32) (*nftables.Set, error) {
	key, err := nftables.ConcatSetType(nftables.TypeIFIndex, nftables.TypeInetProto, nftables.TypeInetService)
	return &nftables.Set{Table: l.table, Name: spreadOf(id), KeyType: key, Concatenation: true, HasTimeout: true}, err
}

// key is the link, as the sets have it.
func (l layout) key() []byte { return binary.NativeEndian.AppendUint32(nil, uint32(l.index)) }
