package kubevip

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// keys are where the options stand in keepvip's file.
var keys = map[string]string{
	"vip": "addresses", "interface": "interface", "check": "check", "metrics": "metrics", "election": "election",
}

// announcing are the options that stand together under announce.
var announcing = map[string]string{"announce-refresh": "refresh", "announce-table": "table", "announce-protocol": "protocol"}

// announce is one line for all of them, at the place of the first; empty where this one is not the first.
func (r *Result) announce(o option, name string) string {
	var values, from []string
	for _, other := range r.Options {
		key, ok := announcing[other.Flag]
		switch {
		case !ok:
			continue
		case len(values) == 0 && other.Flag != o.Flag:
			return ""
		}
		values, from = append(values, key+": "+other.Values[0]), append(from, place(show(name), other.Line)+show(other.From))
	}
	return fmt.Sprintf("  announce: {%s} # %s\n", strings.Join(values, ", "), strings.Join(from, ", "))
}

// Config is keepvip's configuration file with the options, each with its origin as a comment. name is the converted file's.
func (r *Result) Config(name string) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Converted from %s. Behind each value is the line that it comes from.\napiVersion: keepvip/v1\nkind: Config\nvips:\n", show(name))
	indent := "- "
	for _, o := range r.Options {
		if _, ok := announcing[o.Flag]; ok {
			b.WriteString(r.announce(o, name))
			continue
		}
		if o.Flag == "metrics" {
			indent = ""
		}
		fmt.Fprintf(&b, "%s%s:", indent, keys[o.Flag])
		value, err := o.yaml()
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, " %s # %s%s\n", value, place(show(name), o.Line), show(o.From))
		indent = "  "
	}
	return b.Bytes(), nil
}

// yaml is the value on one line.
func (o option) yaml() (string, error) {
	var value any = o.Values[0]
	switch o.Flag {
	case "vip":
		value = o.Values
	}
	var n yaml.Node
	if err := n.Encode(value); err != nil {
		return "", fmt.Errorf("kubevip: render %s: %w", o.Flag, err)
	}
	if n.Kind != yaml.ScalarNode {
		n.Style = yaml.FlowStyle
	}
	out, err := yaml.Marshal(&n)
	if err != nil {
		return "", fmt.Errorf("kubevip: render %s: %w", o.Flag, err)
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}
