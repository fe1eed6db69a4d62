package spreadtables

import "reflect"

// change of the elements of one set.
type change struct {
	family         byte
	set            set
	removed, added []element
}

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
			if len(c.removed)+len(c.added) > 0 {
				changes = append(changes, c)
			}
		}
	}
	return changes, true
}

// like compares all but the elements.
func (s set) like(o set) bool {
	return s.name == o.name && s.key == o.key && s.data == o.data && s.size == o.size && s.timed == o.timed
}

// missing are the elements of one list that are not in the other.
func missing(of, in []element) (out []element) {
	there := make(map[element]bool, len(in))
	for _, e := range in {
		there[e] = true
	}
	for _, e := range of {
		if !there[e] {
			out = append(out, e)
		}
	}
	return out
}
