package kubeadm

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/keepvip/keepvip/kubeadm/yamledit"
)

// jsonPatch is one change that a ClusterClass makes to its templates when a cluster is built, and so after what is merged here.
type jsonPatch struct {
	op   string
	path string
	keys []string // the parts of the path
	node *yaml.Node

	selector *yaml.Node // of the templates that it is for, or nil
}

// jsonPatches are those of all ClusterClasses, in the order of the file.
func jsonPatches(docs []*yaml.Node) (out []jsonPatch) {
	var look func(n, selector *yaml.Node)
	look = func(n, selector *yaml.Node) {
		op, path := yamledit.TextAt(n, "op"), yamledit.TextAt(n, "path")
		if op != "" && strings.HasPrefix(path, "/") {
			out = append(out, jsonPatch{op, path, pointer(path), n, selector})
			return
		}
		if own := yamledit.At(n, "selector"); own != nil {
			selector = own
		}
		for _, sub := range n.Content {
			look(sub, selector)
		}
	}
	for _, d := range docs {
		look(d, nil)
	}
	return out
}

// pointer is the parts of a JSON pointer (RFC 6901).
func pointer(path string) (keys []string) {
	for key := range strings.SplitSeq(path[1:], "/") {
		keys = append(keys, strings.NewReplacer("~1", "/", "~0", "~").Replace(key))
	}
	return keys
}

// line is that of the path.
func (p jsonPatch) line() int { return yamledit.At(p.node, "path").Line }

// below tells what of the path is left below others; it is false where the path leads elsewhere, or ends above.
func (p jsonPatch) below(path []string) (rest []string, ok bool) {
	if len(p.keys) < len(path) {
		return nil, false
	}
	for i, key := range path {
		if p.keys[i] != key {
			return nil, false
		}
	}
	return p.keys[len(path):], true
}

// holds tells that the path is that of a value around a place, or of the place itself.
func (p jsonPatch) holds(path []string) bool {
	return len(p.keys) <= len(path) && strings.Join(path[:len(p.keys)], "/") == strings.Join(p.keys, "/")
}

// slot is the number of a list's entry.
func slot(key string) (int, bool) {
	n, err := strconv.Atoi(key)
	return n, err == nil && n >= 0
}

// fixedHost is the host of the cluster's endpoint that a patch writes as it is, "" for none.
func (p jsonPatch) fixedHost() string {
	value := yamledit.At(p.node, "value")
	switch last := p.keys[len(p.keys)-1]; {
	case value == nil:
		return ""
	case last == "host" && slices.Contains(p.keys, endpointKey):
		return value.Value
	case last == endpointKey && value.Kind == yaml.ScalarNode:
		host, _ := splitEndpoint(value.Value)
		return host
	case last == endpointKey:
		return yamledit.TextAt(value, "host")
	}
	return ""
}
