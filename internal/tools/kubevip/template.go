package kubevip

import (
	"go.yaml.in/yaml/v3"

	"github.com/keepvip/keepvip/kubeadm/yamledit"
)

// filesAt are the places where a template lists the files of a node: cloud-init, Cluster API's KubeadmControlPlane and KubeadmConfig, and
// templates of these.
var filesAt = [][]string{
	{"write_files"},
	{"spec", "kubeadmConfigSpec", "files"},
	{"spec", "template", "spec", "kubeadmConfigSpec", "files"},
	{"spec", "files"},
	{"spec", "template", "spec", "files"},
}

// embedded are the kube-vips in the files that a template has. Their lines are those of the template.
func embedded(name string, d *yaml.Node) (found []source) {
	for _, path := range filesAt {
		for _, file := range items(yamledit.At(d, path...)) {
			content := yamledit.At(file, "content")
			if content == nil || content.Kind != yaml.ScalarNode {
				continue
			}
			text, encoded := yamledit.ContentAt(file)
			docs, err := documents(name, []byte(text))
			if err != nil {
				continue // another file, of which kube-vip cannot be
			}
			for _, pod := range docs {
				move(pod, content, encoded)
				for _, c := range containersOf(pod) {
					s := fromPod(pod, c)
					s.path = yamledit.TextAt(file, "path")
					found = append(found, s)
				}
			}
		}
	}
	return found
}

// move gives the nodes of a text their lines in the file that the text is in: below its first line, where it has lines of its own there.
func move(n, content *yaml.Node, encoded bool) {
	if content.Style&yaml.LiteralStyle != 0 && !encoded {
		n.Line += content.Line
	} else {
		n.Line = content.Line
	}
	for _, sub := range n.Content {
		move(sub, content, encoded)
	}
}
