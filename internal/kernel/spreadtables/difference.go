package spreadtables

import (
	"reflect"
	"slices"
)

// change of the elements of one set.
type change struct {
	family         byte
	set            set
	removed, added []element
	gone, put      []uint32 // slots whose element goes, and that have one of the set's
}

func (c change) empty() bool { return len(c.removed)+len(c.added)+len(c.gone)+len(c.put) == 0 }

// difference is what changes of the elements from one rendering to another. It is not the same where anything else differs.
func difference(before, after []table) (changes []change, same bool) {
	if len(before) != len(after) {
		return nil, false
	}
	for i, a := range after {
		b := before[i]
		if a.family != b.family || len(a.sets) != len(b.sets) || !reflect.DeepEqual(a.chains, b.chains) {
			return nil, false
		}
		for j, s := range a.sets {
			if !s.like(b.sets[j]) {
				return nil, false
			}
			c := change{family: a.family, set: s, removed: missing(b.sets[j].elements, s.elements), added: missing(s.elements, b.sets[j].elements)}
			c.gone, c.put = s.bySlot.after(b.sets[j].bySlot)
			if !c.empty() {
				changes = append(changes, c)
			}
		}
	}
	return changes, true
}

// like compares all but the elements. Sets of different sizes are different ones, so both have as many slots.
func (s set) like(o set) bool {
	return s.name == o.name && s.key == o.key && s.data == o.data && s.size == o.size && s.timed == o.timed && len(s.bySlot.value) == len(o.bySlot.value)
}

// missing are the elements of one list that are not in the other. They are short.
func missing(of, in []element) (out []element) {
	for _, e := range of {
		if !slices.Contains(in, e) {
			out = append(out, e)
		}
	}
	return out
}

// after is what becomes of the elements of another one.
func (b bySlot) after(before bySlot) (gone, put []uint32) {
	for slot := range b.value {
		old, was := before.of(slot)
		now, is := b.of(slot)
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
