package kubevip

import (
	"path"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/keepvip/keepvip/kubeadm"
	"github.com/keepvip/keepvip/kubeadm/yamledit"
)

// nothing says why a text has no kube-vip to convert, and what to do in its place.
func nothing(name string, text []byte, docs []*yaml.Node) error {
	if text, line := hint(docs); text != "" {
		return refused(name, line, "%s", text)
	}
	class, err := kubeadm.ReadClass(name, text)
	if err != nil {
		return refusedBy(err)
	}
	at, already := class.Keepvip, ""
	for _, d := range docs {
		if at == 0 {
			at = keepvipIn(d)
		}
	}
	if at > 0 {
		already = ", and keepvip is in it already"
	}
	if len(class.Left) > 0 {
		return refused(name, at, "no kube-vip to convert%s; keepvip manifest kubeadmcontrolplane --template FILE takes out what is left of kube-vip: %s", already, strings.Join(class.Left, ", "))
	}
	if at > 0 {
		return refused(name, at, "no kube-vip in it%s: nothing is left to convert", already)
	}
	return refused(name, 0, "no kube-vip in it, want a Pod or a DaemonSet that runs one, a template with the file of such a pod, or its configuration file")
}

// keepvipIn is the line at which a document has keepvip's configuration, its pod, or a file of either, 0 for none.
func keepvipIn(n *yaml.Node) int {
	name := func(file string) string { return strings.TrimSuffix(path.Base(file), path.Ext(file)) }
	image, _, _ := strings.Cut(path.Base(yamledit.TextAt(n, "image")), ":")
	switch {
	case n.Kind == yaml.MappingNode && (strings.HasPrefix(yamledit.TextAt(n, "apiVersion"), "keepvip/") || image == "keepvip" || name(yamledit.TextAt(n, "path")) == "keepvip"):
		return n.Line
	}
	for _, sub := range n.Content {
		if line := keepvipIn(sub); line > 0 {
			return line
		}
	}
	return 0
}
