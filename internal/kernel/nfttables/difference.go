package nfttables

import (
	"reflect"
	"slices"
)

// change of the elements of one set.
type change struct {
	family         byte
	set            Set
	removed, added []Element
	gone, put      []uint32 // slots whose element goes, and that have one of the set's
}

func (c change) empty() bool { return len(c.removed)+len(c.added)+len(c.gone)+len(c.put) == 0 }

// difference is what changes from one rendering to another: of tables of which only elements differ these, and others
// as a whole. It is false where they are not of the same families.
func difference(before, after []Table) (changes []change, anew []Table, same bool) {
	if !slices.EqualFunc(before, after, func(b, a Table) bool { return b.Family == a.Family }) {
		return nil, nil, false
	}
	for i, a := range after {
		if !a.like(before[i]) {
			anew = append(anew, a)
			continue
		}
		for j, s := range a.Sets {
			b := before[i].Sets[j]
			c := change{family: a.Family, set: s, removed: missing(b.Elements, s.Elements), added: missing(s.Elements, b.Elements)}
			c.gone, c.put = s.BySlot.after(b.BySlot)
			if !c.empty() {
				changes = append(changes, c)
			}
		}
	}
	return changes, anew, true
}

// like compares all but the elements.
func (t Table) like(o Table) bool {
	return slices.EqualFunc(t.Sets, o.Sets, Set.like) && reflect.DeepEqual(t.Chains, o.Chains)
}

// like compares all but the elements. Sets of different sizes are different ones, so both have as many slots.
func (s Set) like(o Set) bool {
	return s.Name == o.Name && s.Key == o.Key && s.Data == o.Data && s.Size == o.Size && s.Timed == o.Timed && s.Dynamic == o.Dynamic &&
		len(s.BySlot.Value) == len(o.BySlot.Value)
}

// missing are the elements of one list that are not in the other. They are short.
func missing(of, in []Element) (out []Element) {
	for _, e := range of {
		if !slices.Contains(in, e) {
			out = append(out, e)
		}
	}
	return out
}

// after is what becomes of the elements of another one.
func (b BySlot) after(before BySlot) (gone, put []uint32) {
	for slot := range b.Value {
		old, was := before.Of(slot)
		now, is := b.Of(slot)
		if was == is && old == now {
			continue
		}
		if was {
			gone = append(gone, uint32(slot))
		}
		if is {
			put = append(put, uint32(slot))
		}
	}
	return gone, put
}
