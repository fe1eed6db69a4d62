package history

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// Record is one transition that is kept. Its JSON form is the file's, the API's and the command's.
type Record struct {
	Number uint64 `json:"number"` // counts the transitions of this node, over restarts
	// The wall clock of a transition may be set back; these two tell order and distance nevertheless.
	Boot        string  `json:"boot"`        // the kernel's id of its boot
	BootSeconds float64 `json:"bootSeconds"` // since that boot, suspends counted
	instance.Transition
}

// The longest texts, in bytes. What is longer is cut.
const (
	maxName = 64
	maxText = 240
)

// bounded is r with texts that are short enough, and that a terminal can show: some of them are other nodes'.
func (r Record) bounded() Record {
	for _, s := range []*string{&r.Boot, &r.Name, &r.From, &r.To, &r.Fault, &r.OldHolder.Name, &r.NewHolder.Name} {
		*s = clip(*s, maxName)
	}
	for _, s := range []*string{&r.Reason, &r.Cause, &r.AskedBy} {
		*s = clip(*s, maxText)
	}
	r.Code = code.Code(clip(string(r.Code), maxName))
	r.OldHolder.Address, r.NewHolder.Address = r.OldHolder.Address.WithZone(""), r.NewHolder.Address.WithZone("")
	return r
}

// clip makes printable UTF-8 of s, of at most that many bytes.
func clip(s string, most int) string {
	s = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return utf8.RuneError
		}
		return c
	}, s)
	if len(s) <= most {
		return s
	}
	const mark = "..."
	cut := most - len(mark)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + mark
}
