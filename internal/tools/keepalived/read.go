package keepalived

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// Read reads a file and what it includes. The error says that the file itself cannot be read; everything else is a finding.
func Read(path string, o syntax.Options) (*Config, error) {
	doc, err := syntax.Read(path, o)
	if err != nil {
		return nil, err
	}
	return Model(doc), nil
}

// Model makes the typed model of a tree.
func Model(doc *syntax.Document) *Config {
	r := newReader()
	for _, p := range doc.Problems {
		severity := Fault
		if p.Minor {
			severity = Warning
		}
		r.config.Findings = append(r.config.Findings, Finding{Severity: severity, Code: p.Code, Origin: p.At, Text: p.Text, Remedy: p.Remedy, Taken: p.Taken, Harmless: p.Taken && p.Code == syntax.CodeBrace})
	}
	readBlock(r, "", rootKeywords(), r.config, nil, doc.Nodes)
	r.finish()
	r.config.Sources = doc.Sources
	r.config.Sort(r.config.Findings)
	return r.config
}

// reader holds what is read until it is finished.
type reader struct {
	config    *Config
	global    globalDraft
	known     map[string][]string        // the keywords of each block, for those that are not known
	instance  map[string]instanceKeyword // the table, which is made once
	instances []*draft
	named     map[string]*draft // the same by their names
	groups    []*groupDraft
	scripts   map[string]*Script
	files     map[string]*trackFile
	processes map[string]*TrackProcess
}

func newReader() *reader {
	return &reader{
		config: &Config{}, global: newGlobalDraft(), instance: instanceKeywords(), known: map[string][]string{}, named: map[string]*draft{},
		scripts: map[string]*Script{}, files: map[string]*trackFile{}, processes: map[string]*TrackProcess{},
	}
}

// keyword is one row of a block's table.
type keyword[T any] struct {
	read  func(r *reader, into *T, n *syntax.Node) // nil: nothing to read
	block bool                                     // braces must follow, and may not otherwise
	list  bool                                     // the block is a list of lines, and no blocks are in it
	words int                                      // the least number of words, with the keyword itself
	note  string                                   // of severity Note: what keepvip makes of it
	code  string                                   // the code of the note; default CodeIgnored
}

// readBlock reads the lines of a block in their order.
func readBlock[T any](r *reader, of string, table map[string]keyword[T], into *T, b *Block, nodes []*syntax.Node) {
	for _, n := range nodes {
		word := n.Words[0]
		k, ok := table[word]
		switch {
		case !ok:
			r.unknown(of, n)
			continue
		case n.Block && !k.block:
			r.fault(syntax.CodeBrace, n.At, word+" takes no block: keepalived does not know where it ends", "remove the braces")
			continue
		case !n.Block && k.block:
			r.fault(syntax.CodeBrace, n.At, word+" has no block: keepalived takes the lines behind it for it", "open it with a brace on the same line or on the next")
			continue
		case len(n.Words) < k.words:
			r.fault(CodeMissing, n.At, word+" has no value: keepalived does not start", "write the value behind it, or remove the line")
			r.config.Findings[len(r.config.Findings)-1].Fatal = true
			continue
		}
		if k.list {
			r.list(n)
		}
		if k.note != "" {
			r.found(Note, cmp.Or(k.code, CodeIgnored), n.At, word+": "+k.note, "")
		}
		if b != nil {
			b.Set[word] = n.At
		}
		if k.read != nil {
			k.read(r, into, n)
		}
	}
}

// unknown says that there is no such keyword here, and whether it is known elsewhere.
func (r *reader) unknown(of string, n *syntax.Node) {
	word := n.Words[0]
	where := "at the top level"
	if of != "" {
		where = "in " + of
	}
	if since, ok := newer[word]; ok {
		r.fault(CodeNewer, n.At, fmt.Sprintf("%s is known from keepalived %s on, and not to 2.2.7", word, since), "remove it, or run that keepalived everywhere")
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
	if like := r.similar(word, of); like != "" {
		remedy = "did you mean " + like + "?"
	}
	r.fault(CodeUnknown, n.At, text, remedy)
}

func (r *reader) found(s Severity, code string, at syntax.Origin, text, remedy string) {
	r.config.Findings = append(r.config.Findings, Finding{Severity: s, Code: code, Origin: at, Text: text, Remedy: remedy})
}

// slip is a fault of which it is certain what keepalived makes of it.
func (r *reader) slip(code string, at syntax.Origin, text, remedy string) {
	r.fault(code, at, text, remedy)
	r.config.Findings[len(r.config.Findings)-1].Taken = true
}

// harmless marks the newest finding, if it is so.
func (r *reader) harmless(so bool) {
	r.config.Findings[len(r.config.Findings)-1].Harmless = so
}

func (r *reader) fault(code string, at syntax.Origin, text, remedy string) {
	r.found(Fault, code, at, text, remedy)
}

// Sort puts findings in the order of their places: files in the order in which they are read first.
func (c *Config) Sort(findings []Finding) {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(slices.Index(c.Sources, a.File), slices.Index(c.Sources, b.File)), cmp.Compare(a.Line, b.Line))
	})
}

func newBlock(n *syntax.Node) Block {
	b := Block{At: n.At, Set: map[string]syntax.Origin{}}
	if len(n.Words) > 1 {
		b.Name = n.Words[1]
	}
	return b
}

// list looks at what keepalived wants of any list.
func (r *reader) list(n *syntax.Node) {
	if len(n.Words) > 1 {
		r.fault(codeExtra, n.At, fmt.Sprintf("%s: keepalived does not read %q before the brace", n.Words[0], strings.Join(n.Words[1:], " ")), "write it into the block")
	}
	for _, c := range n.Children {
		if c.Block {
			r.fault(syntax.CodeBrace, c.At, strings.Join(c.Words, " ")+": a block inside of a list, which ends the list at its closing brace", "remove the braces")
		}
	}
}

// lines are the lines of a list that is not looked into.
func lines(n *syntax.Node) []line {
	out := make([]line, 0, len(n.Children))
	for _, c := range n.Children {
		out = append(out, line{At: c.At, Words: c.Words})
	}
	return out
}
