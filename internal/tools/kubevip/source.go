package kubevip

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/keepvip/keepvip/kubeadm/yamledit"
)

// maxText bounds a file.
const maxText = 1 << 20

// source is the one kube-vip of a file.
type source struct {
	line     int // of the pod, or of the configuration
	settings settings
	around   []Finding // what else the file has
	path     string    // of a template's file that it is in; "": it is in none
}

// Is tells that a text has a kube-vip in it: a pod or DaemonSet that runs one, a template with the file of such a pod, or kube-vip's
// configuration file.
func Is(text []byte) bool {
	docs, err := documents("", text)
	known, _ := hint(docs)
	return err == nil && (known != "" || slices.ContainsFunc(docs, func(d *yaml.Node) bool {
		return len(containersOf(d)) > 0 || isConfiguration(d) || len(embedded("", d)) > 0
	}))
}

// read finds the one kube-vip.
func read(name string, text []byte) (source, error) {
	docs, err := documents(name, text)
	if err != nil {
		return source{}, err
	}
	var found []source
	var rest []Finding
	for _, d := range docs {
		switch at := containersOf(d); {
		case len(at) > 0:
			for _, c := range at {
				found = append(found, fromPod(d, c))
			}
		case isConfiguration(d):
			found = append(found, fromConfiguration(d))
		default:
			within := embedded(name, d)
			if found = append(found, within...); len(within) == 0 {
				rest = append(rest, otherObject(d))
			}
		}
	}
	switch len(found) {
	case 0:
		return source{}, nothing(name, text, docs)
	case 1:
		if found[0].path == "" {
			found[0].around = append(found[0].around, rest...)
		}
		return found[0], nil
	}
	return source{}, refused(name, found[1].line, "more than one kube-vip, the first in line %d, want a file with the one that has the control plane's address", found[0].line)
}

// documents reads the text; of a List its items.
func documents(name string, text []byte) ([]*yaml.Node, error) {
	if len(text) > maxText {
		return nil, refused(name, 0, "more than 1 MiB, want a manifest")
	}
	if !utf8.Valid(text) {
		return nil, refused(name, 0, "bytes that are no UTF-8, want text")
	}
	tops, err := yamledit.Parse(text)
	var fault *yamledit.Fault
	if errors.As(err, &fault) {
		return nil, refused(name, fault.Line, "not valid YAML: %s (fill a template in before it is converted)", fault.Text)
	}
	if err != nil {
		return nil, err
	}
	var docs []*yaml.Node
	for _, top := range tops {
		if err := plain(name, top); err != nil {
			return nil, err
		}
		switch {
		case top.Kind == yaml.SequenceNode: // as a patch has it
			docs = append(docs, mappings(top)...)
		case top.Kind != yaml.MappingNode:
		case yamledit.TextAt(top, "kind") == "List" && yamledit.At(top, "items") != nil:
			docs = append(docs, yamledit.At(top, "items").Content...)
		default:
			docs = append(docs, top)
		}
	}
	return docs, nil
}

func mappings(n *yaml.Node) []*yaml.Node {
	return slices.DeleteFunc(items(n), func(n *yaml.Node) bool { return n.Kind != yaml.MappingNode })
}

// plain refuses what would hide a setting: an alias, and a key that is there twice.
func plain(name string, n *yaml.Node) error {
	if n.Kind == yaml.AliasNode {
		return refused(name, n.Line, "a YAML alias, want its value written out")
	}
	seen := map[string]bool{}
	for i, sub := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if seen[sub.Value] {
				return refused(name, sub.Line, "the key %s is there twice, want it once", show(sub.Value))
			}
			seen[sub.Value] = true
		}
		if err := plain(name, sub); err != nil {
			return err
		}
	}
	return nil
}

// podOf is the specification of the pod that an object makes, or nil.
func podOf(d *yaml.Node) *yaml.Node {
	switch yamledit.TextAt(d, "kind") {
	case "Pod":
		return yamledit.At(d, "spec")
	case "DaemonSet", "Deployment":
		return yamledit.At(d, "spec", "template", "spec")
	}
	return nil
}

// containersOf are the containers of an object that run kube-vip.
func containersOf(d *yaml.Node) []*yaml.Node {
	return slices.DeleteFunc(items(yamledit.At(podOf(d), "containers")), func(c *yaml.Node) bool { return !runsKubeVIP(c) })
}

// items are those of a list, in a slice of its own.
func items(n *yaml.Node) []*yaml.Node {
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return slices.Clone(n.Content)
}

// runsKubeVIP knows the image of a registry's mirror, too. The cloud provider is another program.
func runsKubeVIP(c *yaml.Node) bool {
	image := yamledit.TextAt(c, "image")
	image, _, _ = strings.Cut(image[strings.LastIndexByte(image, '/')+1:], ":")
	return strings.Contains(image, program) && !strings.Contains(image, "cloud") || image == "" && yamledit.TextAt(c, "name") == program
}

const program = "kube-vip"

// isConfiguration tells kube-vip's own configuration file from other mappings: it says what kube-vip does.
func isConfiguration(d *yaml.Node) bool {
	if d.Kind != yaml.MappingNode || yamledit.At(d, "kind") != nil || yamledit.At(d, "apiVersion") != nil {
		return false
	}
	for i := 0; i < len(d.Content); i += 2 {
		r := rowOf(fieldOf(d.Content[i].Value))
		if r != nil && slices.Contains([]string{envARP, envBGP, envRoutes, envWireguard, envControlPlane, envServices}, r.env) {
			return true
		}
	}
	return false
}

// fieldOf fits the row of a field. kube-vip's decoder does not mind upper and lower case.
func fieldOf(key string) func(*row) bool {
	key = strings.ToLower(key)
	return func(r *row) bool { return r.field != "" && r.field == key }
}

// severalValues is said of a value that is a list or a mapping.
const severalValues = "with several values"

// fromConfiguration reads kube-vip's configuration file.
func fromConfiguration(d *yaml.Node) source {
	out := source{line: d.Line}
	for i := 0; i+1 < len(d.Content); i += 2 {
		key, value := d.Content[i], d.Content[i+1]
		s := setting{name: key.Value, value: value.Value, line: key.Line, rank: inFile, row: rowOf(fieldOf(key.Value))}
		switch {
		case value.Tag == "!!null":
			s.value = ""
		case value.Kind != yaml.ScalarNode:
			s.hidden = severalValues
		}
		out.settings = append(out.settings, s)
	}
	return out
}

// otherObject is what is said of an object that runs no kube-vip.
func otherObject(d *yaml.Node) Finding {
	kind := yamledit.TextAt(d, "kind")
	f := Finding{Line: d.Line, Fate: Lost, What: show(kind) + " " + show(yamledit.TextAt(d, "metadata", "name")), Why: "it runs no kube-vip, and is left out"}
	switch kind {
	case "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding":
		f.Fate, f.Why = Unneeded, "keepvip needs no rights in the cluster"
	}
	return f
}
