package nfttables

import (
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/members/slots"
)

// A Table is one of nftables as it should be. Tables are compared with [reflect.DeepEqual], so they are made of values
// only.
type Table struct {
	Family byte
	Sets   []Set
	Chains []Chain
}

// Set is a set, a map to data, or a map to verdicts.
type Set struct {
	Name     string
	Key      Kind
	Data     Kind   // of a map; noData in a set
	Size     uint32 // 0: it grows
	Timed    bool   // each element ends a lifetime after it was put there
	Dynamic  bool   // rules put elements there, and nobody else
	Elements []Element
	BySlot   BySlot // in place of Elements
}

// BySlot are the elements of a map whose keys are slots. There are thousands of them with a few values, so they are not
// listed one by one.
type BySlot struct {
	Value  []uint8   // of each slot, which one of Values; slots.None: it is not in the map
	Values []Element // without their keys
}

// Of is the value of a slot, if it has one.
func (b BySlot) Of(slot int) (Element, bool) {
	if v := b.Value[slot]; v != slots.None {
		return b.Values[v], true
	}
	return Element{}, false
}

// Kind is a data type, as nft lists it, and its length in bytes, each part of a concatenation padded to four.
type Kind struct{ ID, Length uint32 }

// The numbers are nft's (enum datatypes in its src/datatype.h); the parts of a concatenation take six bits each. A mark
// and a link are numbers in the host's byte order.
var (
	noData      = Kind{}
	TypeIPv4    = Kind{7, 4}
	TypeIPv6    = Kind{8, 16}
	TypeEther   = Kind{9, 6}
	TypePort    = Kind{13, 2}
	TypeMark    = Kind{19, 4}
	TypeLink    = Kind{20, 4}
	TypeVerdict = Kind{unix.NFT_DATA_VERDICT, 16}
	TypePort4   = Kind{7<<12 | 12<<6 | 13, 12} // address . protocol . port
	TypePort6   = Kind{8<<12 | 12<<6 | 13, 24}
)

// Element of a set. Texts are bytes as they are in registers.
type Element struct {
	Key  string
	Data string // of a map to data
	To   string // of a map to verdicts: the chain to go to
}

// Chain is one that others jump to, or one at a hook.
type Chain struct {
	Name     string
	Kind     string // filter or nat; none: no hook
	Hook     uint32
	Device   string // of a chain of the netdev family
	Priority int32
	Rules    []Match
}

// A Match is a run of nftables expressions, of which each one lets the packet go on to the next or ends the rule.
type Match []expression

// expression is one of the library's (see [Run]), or of those that it does not have.
type expression interface {
	Encode(family byte) ([]byte, error)
}

type known struct{ expr.Any }

func (k known) Encode(family byte) ([]byte, error) { return expr.Marshal(family, k.Any) }

// Run is a match of expressions of the library.
func Run(exprs ...expr.Any) Match {
	m := make(Match, len(exprs))
	for i, e := range exprs {
		m[i] = known{e}
	}
	return m
}

// And is one match after the other.
func And(parts ...Match) Match {
	var m Match
	for _, p := range parts {
		m = append(m, p...)
	}
	return m
}
