package syntax

import (
	"fmt"
	"path/filepath"
	"strings"
)

// reader makes lines of files. Every method that takes a line decides whether it was one of its kind.
type reader struct {
	id       string
	root     string
	files    Files
	sources  []*source
	defined  map[string]definition
	pushed   int // lines that replacements made
	opened   int // files
	tree     tree
	lines    int
	stopped  bool
	names    []string // of all files
	problems []problem
	remarks  []Remark
}

// Document is a configuration as a tree, with what is wrong with its text.
type Document struct {
	Nodes    []*Node
	Sources  []string // the files, in the order in which they are read first
	Problems []problem
	Remarks  []Remark // in the order in which they are read
}

// Read reads a file and what it includes. What follows @ on a line is compared with id: keepalived's --config-id, by
// default the first part of the node's name. The error says that the file itself cannot be read; everything else is a
// [problem].
func Read(path, id string, from Files) (*Document, error) {
	r := &reader{id: id, files: from, root: filepath.Dir(path), defined: map[string]definition{}}
	if err := r.open(path); err != nil {
		return nil, err
	}
	for !r.stopped {
		l, ok := r.next()
		if !ok {
			break
		}
		if r.lines++; r.lines > maxLines {
			r.full(l.at)
		}
		r.expand(l)
	}
	r.tree.finish(r)
	return &Document{Nodes: r.tree.root.Children, Sources: r.names, Problems: r.problems, Remarks: r.remarks}, nil
}

func (r *reader) problem(at Origin, code, text, remedy string) {
	r.problems = append(r.problems, problem{At: at, Code: code, Text: text, Remedy: remedy})
}

func (r *reader) full(at Origin) {
	if !r.stopped {
		r.problem(at, CodeLength, fmt.Sprintf("the configuration has more than %d lines", maxLines), "shorten its sequences")
	}
	r.stopped = true
}

// expand takes one line through all replacements, to the tree.
func (r *reader) expand(l line) {
	for _, s := range l.set {
		r.defined[s.name] = definition{s.value}
	}
	raw := l.text
	text := trim(uncommented(raw))
	r.commented(l)
	tilde := false
	conditions := 0
	for range maxRounds {
		switch {
		case text == "":
			return
		case text[0] == '@' && conditions == 0:
			conditions++ // keepalived looks for one a line
			var counts bool
			if text, counts = r.condition(text); !counts {
				r.skipped(l, raw, text)
				return
			}
			continue
		case text[0] == '$' && r.define(l, raw, text), text[0] == '~' && r.sequence(l, text):
			return
		case text[0] == '~' && !tilde:
			tilde = true
			r.problem(l.at, CodeSequence, "a line that begins with ~ and is no ~SEQ, ~SEQx or ~LST", "write the name in capitals, with its parenthesis, or remove the ~")
		}
		next, rest, found := r.replace(l, text)
		if !found {
			if !r.include(l, text) {
				r.tree.add(r, l.at, text)
			}
			return
		}
		r.push(l.at, rest...)
		if text = trim(uncommented(next)); len(text) > maxLine {
			r.problem(l.at, CodeLength, fmt.Sprintf("with its definitions the line is longer than %d characters", maxLine), "look for a definition that contains itself")
			return
		}
		raw = text
	}
	r.problem(l.at, CodeDefinition, fmt.Sprintf("more than %d replacements in a line", maxRounds), "look for a definition that contains itself")
}

// commented looks for a comment that begins inside of a word.
func (r *reader) commented(l line) {
	end := len(uncommented(l.text))
	if end == len(l.text) || end == 0 || isSpace(l.text[end-1]) || l.text[end-1] == '{' || l.text[end-1] == '}' {
		return
	}
	r.problems = append(r.problems, problem{
		At: l.at, Code: codeComment, Minor: true, Text: "a " + l.text[end:end+1] + " inside of a word begins a comment: keepalived drops the rest of the line",
		Remedy: "put the word between double quotes, or a space before the comment",
	})
}

// skipped looks at a line that does not count here: a definition of several lines in it would leave the others.
func (r *reader) skipped(l line, raw, text string) {
	if continued(raw) && strings.HasPrefix(text, "$") {
		r.problem(l.at, CodeDefinition, "a condition before a definition of several lines: only its first line is conditional", "put the condition before each line that uses it")
	}
}
