package convert

import (
	"strings"

	"github.com/keepvip/keepvip/internal/keepalived"
	"github.com/keepvip/keepvip/internal/keepalived/syntax"
)

// doubtful are the faults after which it is not certain what keepalived does, so that nothing is made of them by default.
var doubtful = map[string]bool{
	syntax.CodeBrace: true, syntax.CodeQuote: true, syntax.CodeInclude: true, syntax.CodeSequence: true, syntax.CodeDefinition: true,
	syntax.CodeCharacters: true, syntax.CodeLength: true, keepalived.CodeValue: true, keepalived.CodeMissing: true,
}

// regrade takes over what the model has found. A fault is an error here only where it is not certain what keepalived does: otherwise what
// keepalived does is what is carried over, and the fault says that it is not what is written.
func (c *converter) regrade() {
	table := byKeyword()
	for _, f := range c.cfg.Findings {
		switch {
		case f.Severity == keepalived.Note && c.hasVerdict(f.Origin, table), f.Code == keepalived.CodeNewer && c.hasVerdict(f.Origin, table):
			continue
		case f.Severity == keepalived.Note && c.judgedElsewhere(f):
			continue
		case f.Severity == keepalived.Fault && (!doubtful[f.Code] || c.harmless(f.Origin, table)) && !c.swallows(f):
			f.Severity = keepalived.Warning
		}
		c.say(f.Severity, f.Code, f.Origin, f.Text, f.Remedy)
	}
}

// swallows says whether a finding is of an unknown block, behind which keepalived reads on elsewhere.
func (c *converter) swallows(f keepalived.Finding) bool {
	if f.Code != keepalived.CodeUnknown {
		return false
	}
	for _, n := range c.nodes[f.Origin] {
		if n.Block {
			return true
		}
	}
	return false
}

func (c *converter) hasVerdict(at syntax.Origin, table map[string]verdict) bool {
	for _, n := range c.nodes[at] {
		if _, ok := table[n.Words[0]]; ok {
			return true
		}
	}
	return false
}

// harmless says whether a fault is on the line of a keyword that leaves no trace in any case, or of a group.
func (c *converter) harmless(at syntax.Origin, table map[string]verdict) bool {
	for _, n := range c.nodes[at] {
		if v, ok := table[n.Words[0]]; !(ok && v.severity != keepalived.Fault) && n.Words[0] != "vrrp_sync_group" {
			return false
		}
	}
	return len(c.nodes[at]) > 0
}

// judgedElsewhere says whether this package has its own words for a note of the model, which depend on the other keywords.
func (c *converter) judgedElsewhere(f keepalived.Finding) bool {
	for _, word := range []string{"auth_type", "no_accept", "old_unicast_checksum"} {
		if strings.HasPrefix(f.Text, word) {
			return true
		}
	}
	return false
}
