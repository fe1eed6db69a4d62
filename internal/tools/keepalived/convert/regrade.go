package convert

import (
	"slices"
	"strings"

	"github.com/keepvip/keepvip/internal/tools/keepalived"
	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// doubtful are the faults after which it is not certain what keepalived does, so that nothing is made of them by default.
var doubtful = map[string]bool{
	syntax.CodeBrace: true, syntax.CodeQuote: true, syntax.CodeInclude: true, syntax.CodeSequence: true, syntax.CodeDefinition: true,
	syntax.CodeCharacters: true, syntax.CodeLength: true, keepalived.CodeValue: true, keepalived.CodeMissing: true,
}

// regrade takes over what the model has found. A fault is an error here only where it is not certain what keepalived does: otherwise what
// keepalived does is what is carried over, and the fault says that it is not what is written.
func (c *converter) regrade() {
	g := grader{c.roots, c.nodes, byKeyword()}
	for _, f := range c.cfg.Findings {
		switch {
		case f.Severity == keepalived.Note && g.known(f.Origin), f.Code == keepalived.CodeNewer && g.known(f.Origin):
			continue
		case f.Severity == keepalived.Note && judgedElsewhere(f):
			continue
		case f.Severity == keepalived.Fault && !c.opt.Strict && (f.Taken || !doubtful[f.Code] || g.harmless(f.Origin)) && !g.swallows(f):
			f.Severity = keepalived.Warning
		}
		c.say(f.Severity, f.Code, f.Origin, f.Text, f.Remedy)
	}
}

// grader looks at the keywords on the line of a finding.
type grader struct {
	roots []*syntax.Node
	nodes map[syntax.Origin][]*syntax.Node
	table map[string]fate
}

// swallows says whether a finding is of an unknown block, behind which keepalived reads on elsewhere.
func (g grader) swallows(f keepalived.Finding) bool {
	if f.Code != keepalived.CodeUnknown {
		return false
	}
	for _, n := range g.nodes[f.Origin] {
		if n.Block {
			return !g.outside(n)
		}
	}
	return false
}

// outside says whether an unknown block is one of the top level, with nothing in it that means something there.
func (g grader) outside(n *syntax.Node) bool {
	top := slices.Contains(g.roots, n)
	return top && !slices.ContainsFunc(n.Children, func(c *syntax.Node) bool { return c.Block || keepalived.TopLevel(c.Words[0]) })
}

// known says whether a keyword of the line is one that is never carried over.
func (g grader) known(at syntax.Origin) bool {
	for _, n := range g.nodes[at] {
		if _, ok := g.table[n.Words[0]]; ok {
			return true
		}
	}
	return false
}

// harmless says whether a fault is on the line of a keyword that leaves no trace in any case, or of a group.
func (g grader) harmless(at syntax.Origin) bool {
	for _, n := range g.nodes[at] {
		if v, ok := g.table[n.Words[0]]; !(ok && v.severity != keepalived.Fault) && n.Words[0] != "vrrp_sync_group" {
			return false
		}
	}
	return len(g.nodes[at]) > 0
}

// judgedElsewhere says whether this package has its own words for a note of the model, which depend on the other keywords.
func judgedElsewhere(f keepalived.Finding) bool {
	for _, word := range []string{"auth_type", "no_accept", "old_unicast_checksum"} {
		if strings.HasPrefix(f.Text, word) {
			return true
		}
	}
	return false
}
