package kubevip

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// keys are where the options stand in keepvip's file.
var keys = map[string]string{
	"vip": "addresses", "interface": "interface", "announce-refresh": "announce", "check": "check", "metrics": "metrics",
}

// Config is keepvip's configuration file with the options, each with its origin as a comment. name is the converted file's.
func (r *Result) Config(name string) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Converted from %s. Behind each value is the line that it comes from.\napiVersion: keepvip/v1\nkind: Config\nvips:\n", show(name))
	indent := "- "
	for _, o := range r.Options {
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
func (o Option) yaml() (string, error) {
	var value any = o.Values[0]
	switch o.Flag {
	case "vip":
		value = o.Values
	case "announce-refresh":
		value = map[string]string{"refresh": o.Values[0]}
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
