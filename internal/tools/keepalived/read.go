package keepalived

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// Read reads a file and what it includes, as [syntax.Read]. The error says that the file itself cannot be read;
// everything else is a finding.
func Read(path, id string, from syntax.Files) (*Config, error) {
	doc, err := syntax.Read(path, id, from)
	if err != nil {
		return nil, err
	}
	return Model(doc), nil
}

// Model makes the typed model of a tree.
func Model(doc *syntax.Document) *Config {
	r := &reader{
		config: &Config{}, global: newGlobalDraft(), named: map[string]*draft{},
		scripts: map[string]*Script{}, files: map[string]*trackFile{}, processes: map[string]*TrackProcess{},
	}
	r.instance = instanceKeywords(r)
	for _, p := range doc.Problems {
		severity := Fault
		if p.Minor {
			severity = Warning
		}
		f := r.found(severity, p.Code, p.At, p.Text, p.Remedy)
		f.Taken, f.Harmless = p.Taken, p.Taken && p.Code == syntax.CodeBrace
	}
	readBlock("", rootKeywords(), r, nil, statement{&syntax.Node{Children: doc.Nodes}, &r.findings})
	r.finish()
	r.config.Sources, r.config.Findings = doc.Sources, r.findings
	r.config.Sort(r.config.Findings)
	return r.config
}

// reader holds what is read until it is finished.
type reader struct {
	findings
	config    *Config
	global    globalDraft
	instance  map[string]instanceKeyword // the table, which is made once
	instances []*draft
	named     map[string]*draft // the same by their names
	groups    []*groupDraft
	scripts   map[string]*Script
	files     map[string]*trackFile
	processes map[string]*TrackProcess
}

// keyword is one row of a block's table.
type keyword[T any] struct {
	read  func(into *T, n statement) // nil: nothing to read
	block bool                       // braces must follow, and may not otherwise
	list  bool                       // the block is a list of lines, and no blocks are in it
	words int                        // the least number of words, with the keyword itself
	note  string                     // of severity Note: what keepvip makes of it
	code  string                     // the code of the note; default CodeIgnored
}

// readBlock reads the lines of a block in their order.
func readBlock[T any](of string, table map[string]keyword[T], into *T, b *Block, parent statement) {
	for _, c := range parent.Children {
		n := statement{c, parent.findings}
		word := n.Words[0]
		k, ok := table[word]
		switch {
		case !ok:
			unknown(n, of, similar(word, of, table))
			continue
		case n.Block && !k.block:
			n.fault(syntax.CodeBrace, n.At, word+" takes no block: keepalived does not know where it ends", "remove the braces")
			continue
		case !n.Block && k.block:
			n.fault(syntax.CodeBrace, n.At, word+" has no block: keepalived takes the lines behind it for it", "open it with a brace on the same line or on the next")
			continue
		case len(n.Words) < k.words:
			n.fault(CodeMissing, n.At, word+" has no value: keepalived does not start", "write the value behind it, or remove the line").Fatal = true
			continue
		}
		if k.list {
			n.list()
		}
		if k.note != "" {
			n.found(Note, cmp.Or(k.code, CodeIgnored), n.At, word+": "+k.note, "")
		}
		if b != nil {
			b.Set[word] = n.At
		}
		if k.read != nil {
			k.read(into, n)
		}
	}
}

// unknown says that there is no such keyword here, and whether it is known elsewhere.
func unknown(n statement, of, like string) {
	word := n.Words[0]
	where := "at the top level"
	if of != "" {
		where = "in " + of
	}
	if since, ok := newer[word]; ok {
		n.fault(CodeNewer, n.At, fmt.Sprintf("%s is known from keepalived %s on, and not to 2.2.7", word, since), "remove it, or run that keepalived everywhere")
		return
	}
	text := fmt.Sprintf("keepalived does not know %q %s", word, where)
	switch {
	case n.Block && of == "":
		text += ", and reads what is inside as if no block were around it"
	case n.Block:
		text += ": it ends the block around it at the brace that closes this one, and drops what is behind"
	default:
		text += ", and drops the line"
	}
	remedy := "remove it"
	if like != "" {
		remedy = "did you mean " + like + "?"
	}
	n.fault(CodeUnknown, n.At, text, remedy)
}

// Sort puts findings in the order of their places: files in the order in which they are read first.
func (c *Config) Sort(findings []Finding) {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(slices.Index(c.Sources, a.File), slices.Index(c.Sources, b.File)), cmp.Compare(a.Line, b.Line))
	})
}

func newBlock(n statement) Block {
	b := Block{At: n.At, Set: map[string]syntax.Origin{}}
	if len(n.Words) > 1 {
		b.Name = n.Words[1]
	}
	return b
}

// list looks at what keepalived wants of any list.
func (n statement) list() {
	if len(n.Words) > 1 {
		n.fault(codeExtra, n.At, fmt.Sprintf("%s: keepalived does not read %q before the brace", n.Words[0], strings.Join(n.Words[1:], " ")), "write it into the block")
	}
	for _, c := range n.Children {
		if c.Block {
			n.fault(syntax.CodeBrace, c.At, strings.Join(c.Words, " ")+": a block inside of a list, which ends the list at its closing brace", "remove the braces")
		}
	}
}

// lines are the lines of a list that is not looked into.
func lines(n statement) []line {
	out := make([]line, 0, len(n.Children))
	for _, c := range n.Children {
		out = append(out, line{At: c.At, Words: c.Words})
	}
	return out
}
