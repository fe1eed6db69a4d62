package yamledit

import (
	"math"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Match tells whether an item of a list is meant.
type Match func(item *yaml.Node) bool

// Put puts an item into the list at a path in place of the first that matches, or behind all, and takes out all others that do. A list
// that says the same already stays as it is, with its comments; one that is missing is made.
func (e *Editor) Put(doc int, path []string, item any, match Match) error {
	p, list, err := e.list(doc, path)
	if err != nil {
		return err
	}
	index := slices.IndexFunc(list, match)
	if index < 0 {
		index = len(list)
	}
	return e.splice(p, list, match, index, item)
}

// PutAt makes an item the one of that index, or the last, unless that one matches, and takes out all others that do.
func (e *Editor) PutAt(doc int, path []string, index int, item any, match Match) error {
	p, list, err := e.list(doc, path)
	if err != nil || index < len(list) && match(list[index]) {
		return err
	}
	return e.splice(p, list, match, index, item)
}

// Add puts an item behind all others of the list at a path.
func (e *Editor) Add(doc int, path []string, item any) error {
	return e.PutAt(doc, path, math.MaxInt, item, func(*yaml.Node) bool { return false })
}

// Drop takes the items that match out of the list at a path, with the comments right above them.
func (e *Editor) Drop(doc int, path []string, match Match) (dropped []*yaml.Node, err error) {
	p, list, err := e.list(doc, path)
	if err != nil {
		return nil, err
	}
	dropped = slices.DeleteFunc(slices.Clone(list), func(n *yaml.Node) bool { return !match(n) })
	if len(dropped) == 0 {
		return nil, nil
	}
	return dropped, e.splice(p, list, match, 0)
}

// list is a list and its items; none where it is missing or empty.
func (e *Editor) list(doc int, path []string) (place, []*yaml.Node, error) {
	p, err := e.find(doc, path)
	switch {
	case err != nil || p.key == nil || len(p.missing) > 0 || p.node.Tag == "!!null":
		return p, nil, err
	case p.node.Kind != yaml.SequenceNode || p.node.Anchor != "":
		return p, nil, e.Errorf(p.node.Line, "%s is %s, want a list", Whole(path), shape(p.node))
	}
	return p, p.node.Content, nil
}

// splice takes the items that match out of a list, and puts others in before the one of that index among the rest.
func (e *Editor) splice(p place, list []*yaml.Node, match Match, index int, add ...any) error {
	var added yaml.Node
	if err := added.Encode(add); err != nil {
		return err
	}
	rest := slices.DeleteFunc(slices.Clone(list), match)
	index = min(index, len(rest))
	items := slices.Insert(rest, index, added.Content...)
	if len(list) == 0 || len(items) == 0 || p.node.Style&yaml.FlowStyle != 0 { // an empty list is in brackets, too
		return e.put(p, items)
	}
	lines, column := e.lines(), p.node.Column-1
	var with, out []string
	if len(add) > 0 {
		var err error
		if with, err = e.block(add, column); err != nil {
			return err
		}
	}
	at := p.key.Line // the first line that is not in out
	keep := func(end int) { out = append(out, lines[at:max(at, end)]...); at = max(at, end) }
	for i, n := range list {
		dash, next := dashLine(lines, n, p.node), p.end
		if i+1 < len(list) {
			next = dashLine(lines, list[i+1], p.node)
		}
		start := commentStart(lines, dash, column)
		if index == 0 {
			keep(start)
			out, with = append(out, with...), nil
		}
		if match(n) {
			keep(start)
			at = max(at, contentEnd(lines, dash, next, column))
		} else {
			index--
		}
	}
	keep(p.end)
	p.node.Content = items
	return e.change(p, p.key.Line, p.end, append(out, with...))
}
