package kubevip

import (
	"fmt"
	"strings"
)

// fate says what became of a setting.
type fate string

// The fates.
const (
	Carried  fate = "carried over"   // keepvip does the same
	Changed  fate = "changed"        // keepvip does it in another way
	Lost     fate = "no counterpart" // keepvip has nothing that does this
	Unneeded fate = "not needed"     // nothing is lost without it
)

// Finding is what became of one place of the file.
type Finding struct {
	Line int // from 1; 0: the file as a whole
	Fate fate
	What string // the setting with its value, as the file has it
	Why  string
}

// String is one line: "carried over: vip_interface eth0: --interface=eth0".
func (f Finding) String() string {
	return fmt.Sprintf("%s: %s: %s", f.Fate, f.What, f.Why)
}

// At is the finding with its place, as "kube-vip.yaml:12: carried over: ...".
func (f Finding) At(file string) string { return place(file, f.Line) + f.String() }

func place(file string, line int) string {
	if line == 0 {
		return file + ": "
	}
	return fmt.Sprintf("%s:%d: ", file, line)
}

// show is a text of the file on one line, and not for ever.
func show(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "..."
	}
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || r >= 0x80 }) {
		return fmt.Sprintf("%+q", s)
	}
	return s
}
