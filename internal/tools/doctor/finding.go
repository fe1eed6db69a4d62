package doctor

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/keepvip/keepvip/internal/base/code"
)

// Severity is how bad a finding is.
type Severity string

// The severities, the worst first.
const (
	Error   Severity = "error"   // the address will not work here, or will be on two nodes
	Warning Severity = "warning" // it works now, and will not when something else happens
	Note    Severity = "note"    // worth knowing
)

// Finding is one thing that is not as it should be.
type Finding struct {
	Code     code.Code `json:"code"`
	Name     string    `json:"name"` // of the code, as "link-down"
	Severity Severity  `json:"severity"`
	VIP      string    `json:"vip,omitempty"`  // the name of the virtual address that it is about; "": the host
	Peer     string    `json:"peer,omitempty"` // the address of the other host that it is about
	What     string    `json:"what"`
	Remedy   string    `json:"remedy"`
}

// Count is how many findings there are of each severity.
type Count struct {
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Notes    int `json:"notes"`
}

// Tally counts.
func Tally(all []Finding) (n Count) {
	for _, f := range all {
		switch f.Severity {
		case Error:
			n.Errors++
		case Warning:
			n.Warnings++
		default:
			n.Notes++
		}
	}
	return n
}

func (s Severity) rank() int {
	return slices.Index([]Severity{Error, Warning, Note}, s)
}

// findings are collected by every judge. The same one of two virtual addresses is one, and so are two with one code about the same peer: what
// a member says of itself and what it advertises.
type findings struct{ list []Finding }

func (f *findings) add(n Finding) {
	n.Name = n.Code.Entry().Name
	if n.Remedy == "" {
		n.Remedy = n.Code.Entry().Remedy
	}
	same := func(o Finding) bool {
		return o.Code == n.Code && o.Peer == n.Peer && (o.What == n.What || n.Peer != "" && o.VIP == n.VIP)
	}
	if i := slices.IndexFunc(f.list, same); i >= 0 {
		return
	}
	f.list = append(f.list, n)
}

// sorted is the worst first; of one severity, by code.
func (f *findings) sorted() []Finding {
	slices.SortStableFunc(f.list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Severity.rank(), b.Severity.rank()), cmp.Compare(a.Code, b.Code))
	})
	return f.list
}

// sayer adds findings about one thing.
type sayer func(c code.Code, s Severity, format string, args ...any)

// about says findings about a virtual address, by its name, and another host; "": about none.
func (f *findings) about(vip, peer string) sayer {
	return func(c code.Code, s Severity, format string, args ...any) {
		f.add(Finding{Code: c, Severity: s, VIP: vip, Peer: peer, What: fmt.Sprintf(format, args...)})
	}
}

// say says one about a virtual address.
func (f *findings) say(vip string, c code.Code, s Severity, format string, args ...any) {
	f.about(vip, "")(c, s, format, args...)
}
