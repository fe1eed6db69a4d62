package yamledit

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Match tells whether an item of a list is meant.
type Match func(item *yaml.Node) bool

// Put puts an item into the list at a path in place of the first that matches, or behind all, and takes out all others that do. One
// that says the same already stays as it is.
func (e *Editor) Put(doc int, path []string, item any, match Match) error {
	list, err := e.list(doc, path)
	if err != nil {
		return err
	}
	index := slices.IndexFunc(list, match)
	if index >= 0 && saysTheSame(list[index], item) {
		return nil
	}
	if index < 0 {
		index = len(list)
	}
	return e.move(doc, path, index, item, match)
}

// PutAt makes an item the one of that index, and takes out all others that match.
func (e *Editor) PutAt(doc int, path []string, index int, item any, match Match) error {
	list, err := e.list(doc, path)
	if err != nil || index < len(list) && match(list[index]) {
		return err
	}
	return e.move(doc, path, index, item, match)
}

func (e *Editor) move(doc int, path []string, index int, item any, match Match) error {
	if _, err := e.Drop(doc, path, match); err != nil {
		return err
	}
	return e.splice(doc, path, index, 0, item)
}

// Add puts an item behind all others of the list at a path. The list is made where there is none.
func (e *Editor) Add(doc int, path []string, item any) error {
	return e.Put(doc, path, item, func(*yaml.Node) bool { return false })
}

// Drop takes the items that match out of the list at a path, with the comments right above them.
func (e *Editor) Drop(doc int, path []string, match Match) (dropped []*yaml.Node, err error) {
	for {
		list, err := e.list(doc, path)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(list, match)
		if i < 0 {
			return dropped, nil
		}
		dropped = append(dropped, list[i])
		if err := e.splice(doc, path, i, 1); err != nil {
			return nil, err
		}
	}
}

// splice puts items in place of n of the list at a path, from that index on. An index behind the last is that behind the last.
func (e *Editor) splice(doc int, path []string, index, n int, items ...any) error {
	list, err := e.list(doc, path)
	if err != nil {
		return err
	}
	if n == len(list) { // a list of none has no place of its own, and an empty one is written in brackets
		return e.Set(doc, path, slices.Concat([]any{}, items))
	}
	index = min(index, len(list))
	want := func(old any) any {
		values, _ := old.([]any)
		return slices.Replace(slices.Clone(values), index, index+n, items...)
	}
	return e.change(doc, path, want, func() error {
		p, err := e.find(doc, path)
		if err != nil {
			return err
		}
		lines, column := e.lines(), p.node.Column-1
		var with []string
		if len(items) > 0 {
			if with, err = block(items, column); err != nil {
				return err
			}
		}
		dash := func(i int) int {
			if i == len(list) {
				return p.end
			}
			return dashLine(lines, list[i], p.node)
		}
		start, end := dash(index), dash(index)
		if index < len(list) {
			start = commentStart(lines, start, column)
			end = start
		}
		if n > 0 {
			end = contentEnd(lines, dash(index), dash(index+n), column)
		}
		e.replace(start, end, with)
		return nil
	})
}

// list is the list at a path, in lines of its own from now on; none where the key is missing or empty.
func (e *Editor) list(doc int, path []string) ([]*yaml.Node, error) {
	p, err := e.find(doc, path)
	switch {
	case err != nil:
		return nil, err
	case p.key == nil || len(p.missing) > 0 || p.node.Tag == "!!null":
		return nil, nil
	case p.node.Kind != yaml.SequenceNode || p.node.Anchor != "":
		return nil, e.Errorf(p.node.Line, "%s is %s, want a list", Whole(path), shape(p.node))
	case len(p.node.Content) > 0 && p.node.Style&yaml.FlowStyle != 0:
		return e.unfold(doc, path, p)
	}
	return p.node.Content, nil
}

// unfold writes a list in brackets with one line or more for each item.
func (e *Editor) unfold(doc int, path []string, p place) ([]*yaml.Node, error) {
	same := func(old any) any { return old }
	err := e.change(doc, path, same, func() error {
		n, comment := *p.node, cmp.Or(p.node.LineComment, p.key.LineComment)
		n.Style &^= yaml.FlowStyle
		n.LineComment = ""
		if err := e.put(p, &n); err != nil || comment == "" {
			return err
		}
		first := strings.TrimSuffix(e.lines()[p.start], "\n")
		e.replace(p.start, p.start+1, []string{first + " " + comment + "\n"})
		return nil
	})
	if err != nil {
		return nil, err
	}
	p, err = e.find(doc, path)
	if err != nil {
		return nil, err
	}
	return p.node.Content, nil
}

// saysTheSame tells that an item need not be written again, with the comments that it may have got.
func saysTheSame(n *yaml.Node, item any) bool {
	var old any
	want, err := plain(item)
	return err == nil && n.Decode(&old) == nil && reflect.DeepEqual(old, want)
}
