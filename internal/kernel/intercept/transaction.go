package intercept

import (
	"reflect"
	"slices"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// transaction is one of nftables: the kernel carries out all of it, or nothing.
type transaction struct {
	*nftables.Conn
	name     string // of the tables
	lifetime time.Duration
	lastSet  uint32
	err      error // the first that went wrong while encoding
}

func (x *transaction) table(family byte) *nftables.Table {
	return &nftables.Table{Name: x.name, Family: nftables.TableFamily(family)}
}

// remove takes a table away, whether it is there or not.
func (x *transaction) remove(family byte) {
	x.AddTable(x.table(family))
	x.DelTable(x.table(family))
}

// replace makes a table anew.
func (x *transaction) replace(t table) {
	x.remove(t.family)
	x.AddTable(x.table(t.family))
	x.addSet(x.addresses(t), t.addresses)
	x.addSet(x.targets(t), nil)
	x.change(table{family: t.family}, t)
	for _, h := range t.hooks {
		chain := &nftables.Chain{
			Name: h.name, Table: x.table(t.family), Type: nftables.ChainTypeNAT,
			Hooknum: nftables.ChainHookRef(nftables.ChainHook(h.number)), Priority: nftables.ChainPriorityRef(nftables.ChainPriority(h.priority)),
		}
		x.AddChain(chain)
		for _, r := range h.rules {
			x.AddRule(&nftables.Rule{Table: chain.Table, Chain: chain, Exprs: r})
		}
	}
}

// change makes of one table another with the same hooks: what is new comes first, and what is no more in use goes last.
func (x *transaction) change(before, after table) {
	chain := func(name string) *nftables.Chain { return &nftables.Chain{Name: name, Table: x.table(after.family)} }
	for _, e := range missing(before.backends, after.backends) {
		x.AddChain(chain(e.name))
		x.AddRule(&nftables.Rule{Table: x.table(after.family), Chain: chain(e.name), Exprs: e.rule(after.family)})
	}
	newChoices := missing(before.choices, after.choices)
	for _, c := range newChoices {
		if named(before.choices, c.name) {
			x.FlushChain(chain(c.name))
			x.FlushSet(x.choice(after.family, c))
		} else {
			x.addSet(x.choice(after.family, c), nil)
			x.AddChain(chain(c.name))
		}
		x.put(x.choice(after.family, c), c.elements())
		x.AddRule(&nftables.Rule{Table: x.table(after.family), Chain: chain(c.name), Exprs: c.rule()})
	}
	x.renew(after)
	for _, c := range before.choices {
		if !named(after.choices, c.name) {
			x.FlushChain(chain(c.name))
			x.FlushSet(x.choice(after.family, c))
			x.DelChain(chain(c.name))
			x.DelSet(x.choice(after.family, c))
		}
	}
	for _, e := range missing(after.backends, before.backends) {
		x.FlushChain(chain(e.name))
		x.DelChain(chain(e.name))
	}
}

// renew puts the timed elements there anew: before Linux 6.12 adding one again does not start its time again.
func (x *transaction) renew(t table) {
	var elements []nftables.SetElement
	for _, e := range t.targets {
		elements = append(elements, nftables.SetElement{Key: []byte(e.key), VerdictData: jumpTo(e.chain), Timeout: x.lifetime})
	}
	x.FlushSet(x.targets(t))
	x.put(x.targets(t), elements)
}

// missing are those of one list that are not in the other as they are.
func missing[T any](of, in []T) (out []T) {
	for _, e := range in {
		if !slices.ContainsFunc(of, func(o T) bool { return reflect.DeepEqual(o, e) }) {
			out = append(out, e)
		}
	}
	return out
}

func named(choices []choice, name string) bool {
	return slices.ContainsFunc(choices, func(c choice) bool { return c.name == name })
}

func jumpTo(chain string) *expr.Verdict { return &expr.Verdict{Kind: expr.VerdictGoto, Chain: chain} }

func (c choice) elements() []nftables.SetElement {
	var out []nftables.SetElement
	for i, chain := range c.turns {
		out = append(out, nftables.SetElement{Key: native(uint32(i)), VerdictData: jumpTo(chain)})
	}
	return out
}

// addresses are those of the targets.
func (x *transaction) addresses(t table) *nftables.Set {
	key, _ := keysOf(t.family)
	return &nftables.Set{Table: x.table(t.family), Name: setAddresses, KeyType: key}
}

// targets say at which chain a target goes on. Timed.
func (x *transaction) targets(t table) *nftables.Set {
	_, key := keysOf(t.family)
	return &nftables.Set{Table: x.table(t.family), Name: mapTargets, IsMap: true, KeyType: key, DataType: nftables.TypeVerdict, HasTimeout: true}
}

// choice says at which chain the next connection of a target goes on.
func (x *transaction) choice(family byte, c choice) *nftables.Set {
	return &nftables.Set{
		Table: x.table(family), Name: c.name, IsMap: true, KeyType: nftables.TypeMark, DataType: nftables.TypeVerdict, KeyByteOrder: binaryutil.NativeEndian,
	}
}

// keysOf are the types of an address, and of address, protocol and port.
func keysOf(family byte) (address, target nftables.SetDatatype) {
	address = nftables.TypeIPAddr
	if family == unix.NFPROTO_IPV6 {
		address = nftables.TypeIP6Addr
	}
	return address, nftables.MustConcatSetType(address, nftables.TypeInetProto, nftables.TypeInetService)
}

// addSet numbers the sets of a transaction: the library would with a variable that it has for all of them.
func (x *transaction) addSet(s *nftables.Set, keys []string) {
	x.lastSet++
	s.ID = x.lastSet
	var elements []nftables.SetElement
	for _, k := range keys {
		elements = append(elements, nftables.SetElement{Key: []byte(k)})
	}
	x.failed(x.AddSet(s, nil))
	x.put(s, elements)
}

// elementsPerMessage keeps a message's list of elements within the 64 KiB that the length of a netlink attribute can say.
const elementsPerMessage = 400

func (x *transaction) put(s *nftables.Set, elements []nftables.SetElement) {
	for part := range slices.Chunk(elements, elementsPerMessage) {
		x.failed(x.SetAddElements(s, part))
	}
}

func (x *transaction) failed(err error) {
	if x.err == nil {
		x.err = err
	}
}
