package yamledit

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// place is one key of a document, or where it would be.
type place struct {
	docs       []*yaml.Node // all of the text's
	path       []string
	node       *yaml.Node // the value; nil when the key is not there
	key        *yaml.Node // nil when the key is not there
	missing    []string   // the keys that are not there, at least one without key
	parent     *yaml.Node // the innermost mapping that is there
	start, end int        // lines from 0 of the entry, of the parent's rest without key; trailing comments and blank lines left out
}

// find walks down a path of keys. What is not a mapping in lines of its own on the way is an error.
func (e *Editor) find(doc int, path []string) (place, error) {
	docs, err := e.Documents()
	if err != nil {
		return place{}, err
	}
	if strings.ContainsAny(strings.ReplaceAll(string(e.text), "\r\n", "\n"), "\r\u0085\u2028\u2029") {
		return place{}, e.Errorf(0, "a line break that is neither LF nor CRLF, want one of these") // the parser counts lines by all of them
	}
	lines := e.lines()
	p := place{docs: docs, path: path, parent: docs[doc], end: documentEnd(lines, docs[doc].Line)}
	for i, name := range path {
		if p.parent.Kind != yaml.MappingNode || p.parent.Style&yaml.FlowStyle != 0 || p.parent.Anchor != "" {
			return place{}, e.Errorf(p.parent.Line, "%s is %s, want a mapping with one line for each key", Whole(path[:i]), shape(p.parent))
		}
		at := keyIndex(p.parent, name)
		if at < 0 {
			p.key, p.node, p.missing = nil, nil, path[i:]
			p.end = contentEnd(lines, p.parent.Line-1, p.end, p.parent.Column-1)
			p.start = p.end
			return p, nil
		}
		p.key, p.node = p.parent.Content[at], p.parent.Content[at+1]
		if at+2 < len(p.parent.Content) {
			p.end = p.parent.Content[at+2].Line - 1
		}
		p.start = p.key.Line - 1
		empty := p.node.Tag == "!!null" || len(p.node.Content) == 0 && p.node.Kind != yaml.ScalarNode && p.node.Kind != yaml.AliasNode
		if i+1 == len(path) || empty {
			p.missing = path[i+1:]
			p.end = contentEnd(lines, p.start, p.end, p.key.Column-1)
			return p, nil
		}
		p.parent = p.node
	}
	return p, nil
}

// At is the value at a path of keys below a node, or nil.
func At(n *yaml.Node, path ...string) *yaml.Node {
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

// TextAt is the scalar at a path of keys below a node, or "".
func TextAt(n *yaml.Node, path ...string) string {
	if v := At(n, path...); v != nil && v.Kind == yaml.ScalarNode && v.Tag != "!!null" {
		return v.Value
	}
	return ""
}

func keyIndex(mapping *yaml.Node, name string) int {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return i
		}
	}
	return -1
}

// Whole is a path as errors have it.
func Whole(path []string) string {
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
