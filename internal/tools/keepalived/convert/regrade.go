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
	g := newGrader(c.roots, c.nodes, byKeyword())
	for _, f := range c.cfg.Findings {
		at := g[f.Origin]
		switch {
		case f.Severity == keepalived.Note && at.known, f.Code == keepalived.CodeNewer && at.known:
			continue
		case f.Severity == keepalived.Note && judgedElsewhere(f):
			continue
		case f.Severity == keepalived.Fault && !c.opt.Strict && (f.Taken || !doubtful[f.Code] || at.harmless) && !(f.Code == keepalived.CodeUnknown && at.swallows):
			f.Severity = keepalived.Warning
		}
		c.say(f.Severity, f.Code, f.Origin, f.Text, f.Remedy)
	}
}

// place is what the keywords on one line are, together. A definition can put any number of them there.
type place struct {
	block    bool // it has a block
	swallows bool // if that is unknown, keepalived reads on elsewhere behind it
	known    bool // it has a keyword that is never carried over
	harmless bool // it has nothing but groups, and keywords that leave no trace in any case
}

// grader looks at the keywords on the line of a finding.
type grader map[syntax.Origin]place

func newGrader(roots []*syntax.Node, nodes map[syntax.Origin][]*syntax.Node, table map[string]fate) grader {
	top := make(map[*syntax.Node]bool, len(roots))
	for _, n := range roots {
		top[n] = true
	}
	g := make(grader, len(nodes))
	for at, list := range nodes {
		p := place{harmless: true}
		for _, n := range list {
			v, ok := table[n.Words[0]]
			if n.Block && !p.block {
				p.block, p.swallows = true, !(top[n] && outside(n))
			}
			p.known = p.known || ok
			p.harmless = p.harmless && (ok && v.severity != keepalived.Fault || n.Words[0] == "vrrp_sync_group")
		}
		g[at] = p
	}
	return g
}

// outside says whether an unknown block of the top level has nothing in it that means something there.
func outside(n *syntax.Node) bool {
	return !slices.ContainsFunc(n.Children, func(c *syntax.Node) bool { return c.Block || keepalived.TopLevel(c.Words[0]) })
}

// judgedElsewhere says whether this package has its own words for a note of the model, which depend on the other keywords.
func judgedElsewhere(f keepalived.Finding) bool {
	for _, word := range []string{"auth_type", "no_accept", "old_unicast_checksum", "virtual_server:"} {
		if strings.HasPrefix(f.Text, word) {
			return true
		}
	}
	return false
}
