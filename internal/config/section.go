package config

import (
	"iter"
	"strings"
)

// section is one level of the file: a mapping whose keys are options or further sections.
type section struct {
	name     string
	option   *Option // a leaf
	short    *Option // what a scalar in place of the mapping sets
	list     bool    // a sequence of such mappings
	children []*section
}

// sections is the shape of the file, derived from the options' keys.
func sections() *section {
	root := &section{}
	for o := range everywhere() {
		parent, at := root, root
		for name := range strings.SplitSeq(o.Key, ".") {
			parent = at
			at = parent.child(strings.TrimSuffix(name, "[]"))
			at.list = strings.HasSuffix(name, "[]")
		}
		at.option = o
		if o.shorthand {
			parent.short = o
		}
	}
	return root
}

// everywhere yields the options of the file.
func everywhere() iter.Seq[*Option] {
	return func(yield func(*Option) bool) {
		tables := [][]Option{table}
		for _, l := range lists {
			tables = append(tables, l.options)
		}
		for _, options := range tables {
			for i := range options {
				if !yield(&options[i]) {
					return
				}
			}
		}
	}
}

func (s *section) child(name string) *section {
	c := s.lookup(name)
	if c == nil {
		c = &section{name: name}
		s.children = append(s.children, c)
	}
	return c
}

// lookup is the child of that name, or nil.
func (s *section) lookup(name string) *section {
	for _, c := range s.children {
		if c.name == name {
			return c
		}
	}
	return nil
}

func (s *section) names() []string {
	var names []string
	for _, c := range s.children {
		names = append(names, c.name)
	}
	return names
}
