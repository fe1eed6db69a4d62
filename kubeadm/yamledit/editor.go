package yamledit

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Editor is a text that is being changed. A document is named by its number among those that are not empty, from 0. A path is the keys
// that lead from a document's top to a value. With an error the text is as before.
type Editor struct {
	name string // of the file, for errors
	text []byte
}

// New returns an Editor of a text, called name in errors. The text itself is not changed.
func New(name string, text []byte) *Editor {
	return &Editor{name: name, text: slices.Clone(text)}
}

// Name is the file's, as errors have it.
func (e *Editor) Name() string { return e.name }

// Bytes is the text with all changes.
func (e *Editor) Bytes() []byte { return e.text }

// Errorf is an [Error] about a line of the file from 1, or about all of it with 0.
func (e *Editor) Errorf(line int, format string, args ...any) error {
	return &Error{File: e.name, Line: line, Text: fmt.Sprintf(format, args...)}
}

// Error is about a place of a file.
type Error struct {
	File string
	Line int // from 1; 0: the file as a whole
	Text string
}

// Error has the place in front, behind the package.
func (e *Error) Error() string { return "kubeadm: " + e.At() }

// At is the error with its place alone.
func (e *Error) At() string {
	if e.Line == 0 {
		return e.File + ": " + e.Text
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text)
}

// Documents reads the text. Empty documents are left out.
func (e *Editor) Documents() ([]*yaml.Node, error) {
	if !utf8.Valid(e.text) { // the parser also takes UTF-16, which lines cannot be put into
		return nil, e.Errorf(0, "bytes that are no UTF-8, want text")
	}
	docs, err := Parse(e.text)
	var fault *Fault
	if errors.As(err, &fault) {
		return nil, e.Errorf(fault.Line, "not valid YAML: %s", fault.Text)
	}
	return docs, err
}

// Set makes the value at a path what is given, in place of what may be there.
func (e *Editor) Set(doc int, path []string, value any) error {
	p, err := e.find(doc, path)
	if err != nil {
		return err
	}
	return e.put(p, value)
}

// put writes the entry of a place anew, with the keys on the way to it.
func (e *Editor) put(p place, value any) error {
	column, names, comment := p.parent.Column-1, p.missing, ""
	if p.key != nil {
		column, names = p.key.Column-1, append([]string{p.key.Value}, names...)
		comment = cmp.Or(p.node.LineComment, p.key.LineComment)
	}
	for _, name := range slices.Backward(names) {
		value = map[string]any{name: value}
	}
	with, err := e.block(value, column)
	if err != nil {
		return err
	}
	if comment != "" {
		with[0] = strings.TrimRight(with[0], "\r\n") + " " + comment + e.lineEnd()
	}
	var entry yaml.Node
	if err := entry.Encode(value); err != nil {
		return err
	}
	if p.key == nil {
		p.parent.Content = append(p.parent.Content, entry.Content...)
	} else {
		*p.node = *entry.Content[1]
	}
	return e.change(p, p.start, p.end, with)
}

// Append puts a further document behind the others, or the first below comments.
func (e *Editor) Append(value any) error {
	with, err := e.block(value, 0)
	if err != nil {
		return err
	}
	lines := e.lines()
	if slices.ContainsFunc(lines, func(l string) bool { return strings.TrimSpace(l) != "" && !strings.HasPrefix(l, "#") }) {
		with = append([]string{"---" + e.lineEnd()}, with...)
	}
	e.replace(len(lines), len(lines), with)
	return nil
}

// change puts lines in place of [start, end), unless the text says already what the documents of a place do, which have been changed.
// If the new text says anything else, it is as before.
func (e *Editor) change(p place, start, end int, with []string) error {
	before := e.text
	had, err := e.values()
	if err != nil {
		return err
	}
	want, err := Decode(p.docs)
	if err == nil && reflect.DeepEqual(had, want) {
		return nil
	}
	e.replace(start, end, with)
	if got, unread := e.values(); err != nil || unread != nil || !reflect.DeepEqual(want, got) {
		e.text = before
		return e.Errorf(0, "%s cannot be changed without disturbing the rest, want it in plain block style", Whole(p.path))
	}
	return nil
}

// values is what the documents say.
func (e *Editor) values() ([]any, error) {
	docs, err := e.Documents()
	if err != nil {
		return nil, err
	}
	out, err := Decode(docs)
	if err != nil {
		return nil, e.Errorf(0, "not valid YAML: %s", oneLine(err))
	}
	return out, nil
}

// Decode reads each node as what it says, whatever it is.
func Decode(docs []*yaml.Node) ([]any, error) {
	out := make([]any, len(docs))
	for i, d := range docs {
		if err := d.Decode(&out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// oneLine is an error's text without its line breaks.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
