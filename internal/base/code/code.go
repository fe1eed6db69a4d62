package code

import (
	"errors"
	"slices"
	"strconv"
)

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
		return slices.Concat(hold(), holdWatched(), holdReturns(), holdNewcomers(), holdKubelet(), holdLease())
	case '3':
		return slices.Concat(wire(), wireWatched(), wireHearing(), routes(), reach(), wireCauses(), wireListeners(), wireLacks())
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

// Number is the code's number on the wire, such as 103; 0 for the zero Code, and for what is none.
func (c Code) Number() uint16 {
	if len(c) != 5 || c[:2] != "KV" {
		return 0
	}
	n, err := strconv.ParseUint(string(c[2:]), 10, 16)
	if err != nil || n < 100 {
		return 0
	}
	return uint16(n)
}

// Numbered is the code of that number, which a later release may have given a meaning; the zero Code for what is no number of a code.
func Numbered(n uint16) Code {
	if n < 100 || n > 999 {
		return ""
	}
	return Code("KV" + strconv.Itoa(int(n)))
}

// Error is an error with the code of what it says.
type Error struct {
	Code Code
	Err  error
}

// Error is what the error says.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the error without the code.
func (e *Error) Unwrap() error { return e.Err }

// With gives an error a code; nil stays nil.
func With(c Code, err error) error {
	if err == nil {
		return nil
	}
	return &Error{c, err}
}

// Of is the code that an error carries; the zero Code for none.
func Of(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
