package code

import (
	"errors"
	"strconv"
	"strings"

	"github.com/keepvip/keepvip/docs"
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

// heading begins the entry of each code, in a page that has them in order.
const heading = "\n### "

// All is every entry, in order of the codes.
func All() []Entry {
	var all []Entry
	for _, text := range strings.Split(docs.Troubleshooting, heading)[1:] {
		all = append(all, parse(text))
	}
	return all
}

// Entry is what there is to know about the code; the zero Entry for one that does not exist.
func (c Code) Entry() Entry { return parse(c.text()) }

// text is what the page has of the code, from its own name on; "" for one that does not exist.
func (c Code) text() string {
	if c.Number() == 0 {
		return ""
	}
	at := strings.Index(docs.Troubleshooting, heading+string(c)+" ")
	if at < 0 {
		return ""
	}
	return docs.Troubleshooting[at+len(heading):]
}

// parse reads the entry that a text begins with: a line with its code and its name, a paragraph, and a list of two.
func parse(text string) Entry {
	first, rest, _ := strings.Cut(text, "\n")
	c, name, _ := strings.Cut(first, " ")
	means, rest, _ := strings.Cut(rest, "\n- ")
	look, rest, _ := strings.Cut(rest, "\n- ")
	remedy, _, _ := strings.Cut(rest, "\n\n")
	return Entry{Code(c), name, unfold(means), unfold(look), unfold(remedy)}
}

// unfold is a text without the ends of its lines.
func unfold(text string) string { return strings.Join(strings.Fields(text), " ") }

// Name is the code's name, or "unknown" for one that does not exist: fit for a metric's label.
func (c Code) Name() string {
	first, _, _ := strings.Cut(c.text(), "\n")
	if _, name, ok := strings.Cut(first, " "); ok {
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
