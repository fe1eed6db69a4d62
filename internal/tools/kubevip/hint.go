package kubevip

import (
	"regexp"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/keepvip/keepvip/kubeadm/yamledit"
)

// hint says what a text is that has no kube-vip to convert, and how to get one; "" where it is not known. The line is 0 where it is the whole text.
func hint(docs []*yaml.Node) (text string, line int) {
	for _, d := range docs {
		if text := kindOf(d); text != "" {
			return text, 0
		}
	}
	for _, d := range docs {
		if line := makesManifest(d); line > 0 {
			return "a command that makes kube-vip's manifest: convert the file that it writes, or run keepvip manifest pod in its place", line
		}
	}
	return "", 0
}

// kindOf is the part of hint that goes by what a document is.
func kindOf(d *yaml.Node) string {
	switch chart := func(path ...string) bool { return strings.Contains(yamledit.TextAt(d, path...), program) }; {
	case yamledit.TextAt(d, "kind") == "HelmChart" && chart("spec", "chart"):
		return "a HelmChart, whose manifest the chart makes: write its valuesContent to a file, and run helm template kube-vip CHART -f FILE | keepvip convert -"
	case chart("helm", "chart"), chart("spec", "source", "chart"), chart("spec", "chart", "spec", "chart"): // Fleet, Argo CD, Flux
		return "a release of kube-vip's Helm chart: helm template kube-vip CHART -f FILE, with its values, | keepvip convert -"
	case isValues(d):
		return "the values of kube-vip's Helm chart: helm template kube-vip CHART -f FILE | keepvip convert -"
	case isAnsible(d):
		return "variables of Ansible: convert the manifest that the role makes of them, such as /etc/kubernetes/manifests/kube-vip.yaml on a node"
	case talosAddress(d) != "":
		return "a Talos machine that keeps the address itself: take out vip, and put in the pod of keepvip manifest pod --vip " + show(talosAddress(d)) + " under machine.pods"
	}
	return ""
}

var manifestCommand = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`kube-vip["']?[\s\\]+manifest[\s\\]+(pod|daemonset)\b`)
})

// makesManifest is the line of a command that has kube-vip print its manifest, 0 for none.
func makesManifest(n *yaml.Node) int {
	if n.Kind != yaml.ScalarNode {
		for _, c := range n.Content {
			if line := makesManifest(c); line > 0 {
				return line
			}
		}
		return 0
	}
	at := manifestCommand().FindStringIndex(n.Value)
	if at == nil {
		return 0
	}
	line := n.Line + strings.Count(n.Value[:at[0]], "\n")
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		line++ // the text begins below
	}
	return line
}

// isValues knows values of the chart by the settings in env, and those of its first versions by vip.
func isValues(d *yaml.Node) bool {
	for _, key := range []string{"address", "interface", "enableARP"} {
		if yamledit.At(d, "vip", key) != nil {
			return true
		}
	}
	env := yamledit.At(d, "env")
	if env == nil || env.Kind != yaml.MappingNode {
		return false
	}
	for i := 0; i < len(env.Content); i += 2 {
		if rowOf(func(r *row) bool { return r.env == env.Content[i].Value }) != nil {
			return true
		}
	}
	return false
}

// isAnsible knows the variables of roles, such as kubespray's.
func isAnsible(d *yaml.Node) bool {
	for i := 0; i < len(d.Content); i += 2 {
		if key := strings.ReplaceAll(d.Content[i].Value, "_", ""); strings.HasPrefix(key, "kubevip") {
			return true
		}
	}
	return false
}

// talosAddress is the address that a Talos machine keeps by itself, "" for none.
func talosAddress(d *yaml.Node) string {
	for _, i := range items(yamledit.At(d, "machine", "network", "interfaces")) {
		if ip := yamledit.TextAt(i, "vip", "ip"); ip != "" {
			return ip
		}
	}
	return ""
}

// FlagRemedy says what keepvip has in place of a flag of kube-vip, without its dashes; "" where it is none, or nothing takes its place.
func FlagRemedy(name string) string {
	switch name {
	case "address":
		return "--vip ADDRESS"
	case "controlplane", "arp", "leaderElection", "inCluster":
		return "leave it out: keepvip always does this, or does not need it"
	case "enableLoadBalancer":
		return "--spread direct has every healthy node serve its share"
	case "services":
		return noServices
	}
	if rowOf(func(r *row) bool { return r.flag == name && name != "" }) != nil && name != "interface" {
		return "keepvip convert MANIFEST says what becomes of it"
	}
	return ""
}
