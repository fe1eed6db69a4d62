package code

import "slices"

// Code is one cause, such as "KV103". The zero Code is a cause that is not known.
type Code string

// Entry is what there is to know about a Code.
type Entry struct {
	Code   Code   `json:"code"`
	Name   string `json:"name"`   // lower-case words joined by hyphens, such as "holder-silent": fit for a metric's label
	Means  string `json:"means"`  // this and what follows: whole plain sentences
	Look   string `json:"look"`   // where an operator looks
	Remedy string `json:"remedy"` // what an operator does
}

// ranges are the tables by the digit after "KV".
func ranges(digit byte) []Entry {
	switch digit {
	case '1':
		return transition()
	case '2':
		return append(hold(), holdWatched()...)
	case '3':
		return append(wire(), wireWatched()...)
	case '4':
		return host()
	case '5':
		return raft()
	case '6':
		return cluster()
	case '7':
		return drill()
	}
	return nil
}

// All is every entry, in order of the codes.
func All() []Entry {
	var all []Entry
	for digit := byte('1'); digit <= '7'; digit++ {
		all = append(all, ranges(digit)...)
	}
	return all
}

// Entry is what there is to know about the code; the zero Entry for one that does not exist.
func (c Code) Entry() Entry {
	if len(c) != 5 {
		return Entry{}
	}
	list := ranges(c[2])
	if i := slices.IndexFunc(list, func(e Entry) bool { return e.Code == c }); i >= 0 {
		return list[i]
	}
	return Entry{}
}

// Name is the code's name, or "unknown" for one that does not exist: fit for a metric's label.
func (c Code) Name() string {
	if name := c.Entry().Name; name != "" {
		return name
	}
	return "unknown"
}
