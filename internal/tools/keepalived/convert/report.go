package convert

import (
	"github.com/keepvip/keepvip/internal/tools/keepalived"
	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// report is what a conversion has to say.
type report struct {
	findings []keepalived.Finding
	said     map[keepalived.Finding]bool
	foundAt  map[syntax.Origin]bool // lines that have a finding
}

func newReport() report {
	return report{said: map[keepalived.Finding]bool{}, foundAt: map[syntax.Origin]bool{}}
}

// say adds a finding, once.
func (r *report) say(s keepalived.Severity, code string, at syntax.Origin, text, remedy string) {
	f := keepalived.Finding{Severity: s, Code: code, Origin: at, Text: plain(text), Remedy: plain(remedy)}
	if !r.said[f] {
		r.said[f] = true
		r.findings, r.foundAt[at] = append(r.findings, f), true
	}
}

func (r *report) refuse(at syntax.Origin, text, remedy string) {
	r.say(keepalived.Fault, keepalived.CodeUnsupported, at, text, remedy)
}

func (r *report) changed(at syntax.Origin, text, remedy string) {
	r.say(keepalived.Warning, codeChanged, at, text, remedy)
}

func (r *report) note(at syntax.Origin, text string) {
	r.say(keepalived.Note, keepalived.CodeIgnored, at, text, "")
}

// found says whether a line has a finding.
func (r *report) found(at syntax.Origin) bool { return r.foundAt[at] }
