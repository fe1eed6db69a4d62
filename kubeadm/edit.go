package kubeadm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// editor changes single places of a YAML text that a person has written: every line that is not part of a change stays as it is,
// with its comments, order and quotes. After each change the text is read again, and has to say what was wanted and nothing else.
type editor struct {
	name string // of the file, for errors
	text []byte
}

// spot is one key of a document, or the place where it would be.
type spot struct {
	node       *yaml.Node // the value; nil when the key is not there
	key        *yaml.Node // nil when the key is not there
	missing    []string   // the keys that are not there, at least one without key
	parent     *yaml.Node // the innermost mapping that is there
	start, end int        // lines from 0 of the entry, of the parent's rest without key; trailing comments and blank lines left out
}

func (e *editor) fail(line int, format string, args ...any) error {
	at := e.name
	if line > 0 {
		at = fmt.Sprintf("%s:%d", e.name, line)
	}
	return fmt.Errorf("kubeadm: %s: %s", at, fmt.Sprintf(format, args...))
}

// documents reads the text. Empty documents are left out.
func (e *editor) documents() ([]*yaml.Node, error) {
	if !utf8.Valid(e.text) { // the parser also takes UTF-16, which lines cannot be put into
		return nil, e.fail(0, "bytes that are no UTF-8, want text")
	}
	var docs []*yaml.Node
	for dec := yaml.NewDecoder(bytes.NewReader(e.text)); ; {
		var n yaml.Node
		err := dec.Decode(&n)
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, e.fail(0, "not valid YAML: %s", strings.TrimPrefix(oneLine(err), "yaml: "))
		}
		if top := n.Content[0]; top.Tag != "!!null" {
			docs = append(docs, top)
		}
	}
}

// lines are those of the text, each with its end.
func (e *editor) lines() []string {
	lines := strings.SplitAfter(string(e.text), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// replace puts other lines in place of [start, end), and says nothing about what they mean.
func (e *editor) replace(start, end int, with []string) {
	lines := e.lines()
	if start == len(lines) && start > 0 && !strings.HasSuffix(lines[start-1], "\n") {
		lines[start-1] += "\n"
	}
	e.text = []byte(strings.Join(slices.Replace(lines, start, end, with...), ""))
}

// find walks down a path of keys. What is not a mapping in lines of its own on the way is an error.
func (e *editor) find(doc int, path []string) (spot, error) {
	docs, err := e.documents()
	if err != nil {
		return spot{}, err
	}
	lines := e.lines()
	s := spot{parent: docs[doc], end: documentEnd(lines, docs[doc].Line)}
	for i, name := range path {
		if s.parent.Kind != yaml.MappingNode || s.parent.Style&yaml.FlowStyle != 0 || s.parent.Anchor != "" {
			return spot{}, e.fail(s.parent.Line, "%s is %s, want a mapping with one line for each key", whole(path[:i]), shape(s.parent))
		}
		at := keyIndex(s.parent, name)
		if at < 0 {
			s.key, s.node, s.missing = nil, nil, path[i:]
			s.end = contentEnd(lines, s.parent.Line-1, s.end, s.parent.Column-1)
			s.start = s.end
			return s, nil
		}
		s.key, s.node = s.parent.Content[at], s.parent.Content[at+1]
		if at+2 < len(s.parent.Content) {
			s.end = s.parent.Content[at+2].Line - 1
		}
		s.start = s.key.Line - 1
		empty := s.node.Tag == "!!null" || len(s.node.Content) == 0 && s.node.Kind != yaml.ScalarNode && s.node.Kind != yaml.AliasNode
		if i+1 == len(path) || empty {
			s.missing = path[i+1:]
			s.end = contentEnd(lines, s.start, s.end, s.key.Column-1)
			return s, nil
		}
		s.parent = s.node
	}
	return s, nil
}

// set makes the value at a path what is given, in place of what may be there.
func (e *editor) set(doc int, path []string, value any) error {
	return e.change(doc, path, func(any) any { return value }, func() error {
		s, err := e.find(doc, path)
		if err != nil {
			return err
		}
		return e.put(s, value)
	})
}

// put writes the entry of a spot anew, with the keys on the way to it.
func (e *editor) put(s spot, value any) error {
	column, names := s.parent.Column-1, s.missing
	if s.key != nil {
		column, names = s.key.Column-1, append([]string{s.key.Value}, s.missing...)
	}
	for i := len(names) - 1; i >= 0; i-- {
		value = map[string]any{names[i]: value}
	}
	with, err := block(value, column)
	if err != nil {
		return err
	}
	e.replace(s.start, s.end, with)
	return nil
}

// addDocument puts a further document behind the others.
func (e *editor) addDocument(value any) error {
	with, err := block(value, 0)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(e.text)) > 0 {
		with = append([]string{"---\n"}, with...)
	}
	e.replace(len(e.lines()), len(e.lines()), with)
	return nil
}

// block is a value as lines that begin at a column.
func block(value any, column int) ([]string, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(value), enc.Close()); err != nil {
		return nil, fmt.Errorf("kubeadm: render YAML: %w", err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(b.String(), "\n"), "\n")
	for i, l := range lines {
		if strings.TrimSpace(l) != "" {
			lines[i] = strings.Repeat(" ", column) + l
		}
	}
	lines[len(lines)-1] += "\n"
	return lines, nil
}

// documentEnd is the line of the marker that ends the document around a line.
func documentEnd(lines []string, from int) int {
	for i := from; i < len(lines); i++ {
		l := strings.TrimRight(lines[i], "\r\n")
		if l == "---" || l == "..." || strings.HasPrefix(l, "--- ") {
			return i
		}
	}
	return len(lines)
}

// contentEnd leaves out the comments and blank lines at the end, which belong to what follows. What stands deeper than the
// column may be text within a block scalar.
func contentEnd(lines []string, start, end, column int) int {
	for end > start+1 {
		l := lines[end-1]
		text := strings.TrimLeft(l, " \t")
		comment := strings.HasPrefix(text, "#") && len(l)-len(text) <= column
		if strings.TrimSpace(text) != "" && !comment {
			break
		}
		end--
	}
	return end
}

func keyIndex(mapping *yaml.Node, name string) int {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return i
		}
	}
	return -1
}

// at is the value at a path of keys, or nil.
func at(n *yaml.Node, path ...string) *yaml.Node {
	for _, name := range path {
		if n == nil || n.Kind != yaml.MappingNode {
			return nil
		}
		i := keyIndex(n, name)
		if i < 0 {
			return nil
		}
		n = n.Content[i+1]
	}
	return n
}

// textAt is the scalar at a path of keys, or "".
func textAt(n *yaml.Node, path ...string) string {
	if v := at(n, path...); v != nil && v.Kind == yaml.ScalarNode && v.Tag != "!!null" {
		return v.Value
	}
	return ""
}

func whole(path []string) string {
	if len(path) == 0 {
		return "the document"
	}
	return strings.Join(path, ".")
}

func shape(n *yaml.Node) string {
	switch {
	case n.Anchor != "" || n.Kind == yaml.AliasNode:
		return "a YAML anchor or alias"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.MappingNode:
		return "a mapping in braces"
	}
	return fmt.Sprintf("%q", n.Value)
}

// oneLine is an error's text without its line breaks.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
