package spreadtables

import (
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/members/slots"
)

// A table is one of nftables as it should be. Tables are compared with reflect.DeepEqual, so they are made of values only.
type table struct {
	family byte
	sets   []set
	chains []chain
}

// set is a set, a map to data, or a map to verdicts.
type set struct {
	name     string
	key      kind
	data     kind   // of a map; none in a set
	size     uint32 // 0: it grows
	timed    bool   // each element ends a lifetime after it was put there
	elements []element
	bySlot   bySlot // in place of elements
}

// bySlot are the elements of a map whose keys are slots. There are thousands of them with a few values, so they are not listed one by one.
type bySlot struct {
	value  []uint8   // of each slot, which one of values; slots.None: it is not in the map
	values []element // without their keys
}

// of is the value of a slot, if it has one.
func (b bySlot) of(slot int) (element, bool) {
	if v := b.value[slot]; v != slots.None {
		return b.values[v], true
	}
	return element{}, false
}

// kind is a data type, as nft lists it, and its length in bytes, each part of a concatenation padded to four.
type kind struct{ id, length uint32 }

// The numbers are nft's (enum datatypes in its src/datatype.h); the parts of a concatenation take six bits each.
var (
	none        = kind{}
	typeIPv4    = kind{7, 4}
	typeIPv6    = kind{8, 16}
	typeEther   = kind{9, 6}
	typeMark    = kind{19, 4} // a number in the host's byte order
	typeLink    = kind{20, 4} // likewise
	typeVerdict = kind{unix.NFT_DATA_VERDICT, 16}
	typePort4   = kind{7<<12 | 12<<6 | 13, 12} // address . protocol . port
	typePort6   = kind{8<<12 | 12<<6 | 13, 24}
)

// element of a set. Texts are bytes as they are in registers.
type element struct {
	key  string
	data string // of a map to data
	to   string // of a map to verdicts: the chain to go to
}

// chain is one that others jump to, or one at a hook.
type chain struct {
	name     string
	kind     string // filter or nat; none: no hook
	hook     uint32
	device   string // of a chain of the netdev family
	priority int32
	rules    []match
}

// A match is a run of nftables expressions, of which each one lets the packet go on to the next or ends the rule.
type match []expression

// expression is one of the library's, or of those that it does not have.
type expression interface {
	encode(family byte) ([]byte, error)
}

type known struct{ expr.Any }

func (k known) encode(family byte) ([]byte, error) { return expr.Marshal(family, k.Any) }

func run(exprs ...expr.Any) match {
	m := make(match, len(exprs))
	for i, e := range exprs {
		m[i] = known{e}
	}
	return m
}

func and(parts ...match) match {
	var m match
	for _, p := range parts {
		m = append(m, p...)
	}
	return m
}
