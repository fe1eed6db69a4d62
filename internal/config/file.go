package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	apiVersion = "keepvip/v1"
	fileKind   = "Config"
	maxFile    = 1 << 20
)

// setting is one option as one source gives it.
type setting struct {
	option *Option
	vip    int // index under vips; 0 in a flag or variable that describes a VIP
	index  int // under the VIP's checks, hooks, ports or backends, of an option there
	raw    []string
	origin Origin
}

// document is a file taken apart, before any value is read.
type document struct {
	settings []setting
	vips     []Origin              // of each entry under vips
	elements []map[string][]Origin // of each entry's lists, by their keys

	vip, index int // the last entry of vips, and that of the list in it
}

// fileReader walks one file. Nothing is decoded by reflection: only what the table names is taken, at a known line.
type fileReader struct {
	path string
	*problems
	document
}

// parseFile takes a configuration file apart. Every complaint names path and line; what is left can be read on.
func parseFile(f fileText, ps *problems) document {
	r := &fileReader{path: f.path, problems: ps}
	if len(f.Text) > maxFile {
		r.add(r.at(0), "", "more than %d bytes, want at most that", maxFile)
		return r.document
	}
	if f.Draft != nil {
		ps.list = append(ps.list, f.Draft.problems.list...)
		return f.Draft.document
	}
	if top := r.decode(f.Text); top != nil {
		r.header(top)
		r.mapping(top, sections(), "")
	}
	return r.document
}

func (r *fileReader) at(line int) Origin {
	return Origin{Source: File, Name: r.path, Line: line}
}

// decode reads exactly one YAML document that is a mapping.
func (r *fileReader) decode(data []byte) *yaml.Node {
	if line := firstBadLine(data); line > 0 {
		r.add(r.at(line), "", "a control character or bytes that are no UTF-8, want text")
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		r.add(r.at(0), "", "empty, want apiVersion: %s, kind: %s and vips", apiVersion, fileKind)
		return nil
	case err != nil:
		line, text := yamlError(err)
		r.add(r.at(line), "", "not valid YAML: %s", text)
		return nil
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		r.add(r.at(max(more.Line, 1)), "", "more than one YAML document, want one")
		return nil
	}
	top := doc.Content[0]
	if top.Kind != yaml.MappingNode {
		r.add(r.at(top.Line), "", "%s, want a mapping with apiVersion, kind and vips", describe(top))
		return nil
	}
	return top
}

// header checks apiVersion and kind, which are no options.
func (r *fileReader) header(top *yaml.Node) {
	for _, h := range [][2]string{{"apiVersion", apiVersion}, {"kind", fileKind}} {
		found := false
		for i := 0; i < len(top.Content); i += 2 {
			if top.Content[i].Value != h[0] {
				continue
			}
			found = true
			if v := top.Content[i+1]; v.Kind != yaml.ScalarNode || v.Value != h[1] {
				r.add(r.at(v.Line), h[0], "%s, want %s", describe(v), h[1])
			}
		}
		if !found {
			r.add(r.at(top.Line), h[0], "missing, want %s", h[1])
		}
	}
}

// mapping reads a mapping whose keys are the section's children; prefix is its key path with a trailing dot.
func (r *fileReader) mapping(n *yaml.Node, s *section, prefix string) {
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		if name.Kind != yaml.ScalarNode {
			r.add(r.at(name.Line), strings.TrimSuffix(prefix, "."), "%s as a key, want a name", describe(name))
			continue
		}
		key := prefix + showKey(name.Value)
		if line, twice := first[name.Value]; twice {
			r.add(r.at(name.Line), key, "is given twice (first in line %d), want it once", line)
			continue
		}
		first[name.Value] = name.Line
		if prefix == "" && (name.Value == "apiVersion" || name.Value == "kind") {
			continue
		}
		child := s.lookup(name.Value)
		if child == nil {
			r.add(r.at(name.Line), key, "unknown key, %s", keyInstead(name.Value, s))
			continue
		}
		r.value(value, child, key)
	}
}

// value reads what stands behind a known key.
func (r *fileReader) value(n *yaml.Node, s *section, key string) {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		r.add(r.at(n.Line), key, "a YAML anchor or alias, want the value written out")
	case n.Tag == "!!null":
		r.add(r.at(n.Line), key, "no value, want one or the key removed")
	case s.option != nil:
		r.leaf(n, s.option, key)
	case s.list:
		r.entries(n, s, key)
	case s.short != nil && n.Kind == yaml.ScalarNode:
		r.leaf(n, s.short, key)
	case n.Kind != yaml.MappingNode:
		r.add(r.at(n.Line), key, "%s, want a mapping with %s", describe(n), strings.Join(s.names(), ", "))
	default:
		r.mapping(n, s, key+".")
	}
}

// entries reads the list of VIPs, or of the checks, hooks or ports of one.
func (r *fileReader) entries(n *yaml.Node, s *section, key string) {
	if n.Kind != yaml.SequenceNode {
		entry := "addresses for each virtual address"
		if l := listNamed(s.name); l != nil {
			entry = l.wants
		}
		r.add(r.at(n.Line), key, "%s, want a list: one entry with %s", describe(n), entry)
		return
	}
	if s.name == checksKey && len(n.Content) == 0 {
		r.add(r.at(n.Line), key, "an empty list, want at least one check, or check: %s in its place", noCheck)
	}
	for i, entry := range n.Content {
		r.enter(s, r.at(entry.Line))
		at := fmt.Sprintf("%s[%d]", key, i)
		if entry.Kind != yaml.MappingNode || entry.Anchor != "" {
			r.add(r.at(entry.Line), at, "%s, want a mapping with %s", describe(entry), strings.Join(s.names(), ", "))
			continue
		}
		r.mapping(entry, s, at+".")
	}
}

// enter notes that the next entry of a list begins.
func (d *document) enter(s *section, at Origin) {
	if l := listNamed(s.name); l != nil {
		of := d.elements[d.vip]
		d.index, of[l.key] = len(of[l.key]), append(of[l.key], at)
		return
	}
	d.vip, d.vips, d.elements = len(d.vips), append(d.vips, at), append(d.elements, map[string][]Origin{})
}

// leaf takes one option's value, a scalar or a list of scalars of the right type.
func (r *fileReader) leaf(n *yaml.Node, o *Option, key string) {
	values := []*yaml.Node{n}
	if o.list {
		if n.Kind != yaml.SequenceNode {
			r.add(r.at(n.Line), key, "%s, want a list such as [%s]", describe(n), strings.TrimSpace(n.Value))
			return
		}
		values = n.Content
	}
	raw := make([]string, 0, len(values))
	for _, v := range values {
		if !o.accepts(v) {
			r.add(r.at(v.Line), key, "%s, want %s", describe(v), o.wants())
			return
		}
		raw = append(raw, v.Value)
	}
	r.settings = append(r.settings, setting{option: o, vip: r.vip, index: r.index, raw: raw, origin: r.at(n.Line)})
}

func (o *Option) accepts(v *yaml.Node) bool {
	if v.Kind != yaml.ScalarNode || v.Anchor != "" {
		return false
	}
	return slices.Contains(o.tags, v.Tag)
}

func (o *Option) wants() string {
	switch o.tags[0] {
	case tagInt:
		return "a number"
	case tagBool:
		return "true or false"
	}
	return "a string (in quotes if need be): " + o.kind
}

// describe tells what a node is, for "got".
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.AliasNode:
		return "a YAML alias"
	case n.Tag == "!!null":
		return "no value"
	case n.Tag == tagString:
		return strconv.Quote(clip(n.Value))
	}
	return show(n.Value)
}
