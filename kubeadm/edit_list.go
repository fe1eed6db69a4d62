package kubeadm

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// insert puts an item into the list at a path, before the item of that index, -1: behind all. The list is made where there is none.
func (e *editor) insert(doc int, path []string, index int, item any) error {
	list, err := e.listAt(doc, path)
	if err != nil {
		return err
	}
	if index < 0 {
		index = len(list)
	}
	added := func(old any) any {
		values, _ := old.([]any)
		return slices.Insert(slices.Clone(values), index, item)
	}
	if len(list) == 0 {
		return e.set(doc, path, []any{item})
	}
	return e.change(doc, path, added, func() error {
		s, err := e.find(doc, path)
		if err != nil {
			return err
		}
		column := s.node.Column - 1
		with, err := block([]any{item}, column)
		if err != nil {
			return err
		}
		line := s.end
		if index < len(list) {
			line = dashLine(e.lines(), list[index], s.node)
			line = commentStart(e.lines(), line, column)
		}
		e.replace(line, line, with)
		return nil
	})
}

// drop takes the items that match out of the list at a path, with the comments right above them.
func (e *editor) drop(doc int, path []string, match func(*yaml.Node) bool) (dropped []*yaml.Node, err error) {
	for {
		list, err := e.listAt(doc, path)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(list, match)
		if i < 0 {
			return dropped, nil
		}
		dropped = append(dropped, list[i])
		if err := e.dropOne(doc, path, list, i); err != nil {
			return nil, err
		}
	}
}

func (e *editor) dropOne(doc int, path []string, list []*yaml.Node, i int) error {
	if len(list) == 1 {
		return e.set(doc, path, []any{})
	}
	removed := func(old any) any {
		values, _ := old.([]any)
		return slices.Delete(slices.Clone(values), i, i+1)
	}
	return e.change(doc, path, removed, func() error {
		s, err := e.find(doc, path)
		if err != nil {
			return err
		}
		lines, column, end := e.lines(), s.node.Column-1, s.end
		start := dashLine(lines, list[i], s.node)
		if i+1 < len(list) {
			end = contentEnd(lines, start, dashLine(lines, list[i+1], s.node), column)
		}
		e.replace(commentStart(lines, start, column), end, nil)
		return nil
	})
}

// listAt is the list at a path, in lines of its own from now on; none where the key is missing or empty.
func (e *editor) listAt(doc int, path []string) ([]*yaml.Node, error) {
	s, err := e.find(doc, path)
	switch {
	case err != nil:
		return nil, err
	case s.key == nil || len(s.missing) > 0 || s.node.Tag == "!!null":
		return nil, nil
	case s.node.Kind != yaml.SequenceNode || s.node.Anchor != "":
		return nil, e.fail(s.node.Line, "%s is %s, want a list", whole(path), shape(s.node))
	case len(s.node.Content) > 0 && s.node.Style&yaml.FlowStyle != 0:
		return e.unfold(doc, path, s)
	}
	return s.node.Content, nil
}

// unfold writes a list in brackets with one line or more for each item.
func (e *editor) unfold(doc int, path []string, s spot) ([]*yaml.Node, error) {
	same := func(old any) any { return old }
	err := e.change(doc, path, same, func() error {
		n, comment := *s.node, cmp.Or(s.node.LineComment, s.key.LineComment)
		n.Style &^= yaml.FlowStyle
		n.LineComment = ""
		if err := e.put(s, &n); err != nil || comment == "" {
			return err
		}
		first := strings.TrimSuffix(e.lines()[s.start], "\n")
		e.replace(s.start, s.start+1, []string{first + " " + comment + "\n"})
		return nil
	})
	if err != nil {
		return nil, err
	}
	s, err = e.find(doc, path)
	if err != nil {
		return nil, err
	}
	return s.node.Content, nil
}

// dashLine is the line from 0 at which an item of a list begins. Its value may stand below the dash.
func dashLine(lines []string, item, list *yaml.Node) int {
	column := list.Column - 1
	for i := item.Line - 1; i > list.Line-1; i-- {
		if l := lines[i]; len(l) > column && l[column] == '-' && strings.TrimSpace(l[:column]) == "" {
			return i
		}
	}
	return list.Line - 1
}

// commentStart is the first of the comment lines right above a line, at the same column.
func commentStart(lines []string, line, column int) int {
	for line > 0 {
		l := lines[line-1]
		if len(l) <= column || l[column] != '#' || strings.TrimSpace(l[:column]) != "" {
			break
		}
		line--
	}
	return line
}
