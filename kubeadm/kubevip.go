package kubeadm

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/keepvip/keepvip/kubeadm/yamledit"
)

// kubeVIP is what gives away the files and commands of the program that keepvip takes the place of.
const kubeVIP = "kube-vip"

// dropKubeVIP takes out the files of kube-vip and the commands that prepare them, and says so in a line each.
func dropKubeVIP(e *yamledit.Editor, doc int, filesAt []string, commandsAt ...[]string) (notes []string, err error) {
	files, err := e.Drop(doc, filesAt, func(n *yaml.Node) bool {
		content, _ := yamledit.ContentAt(n)
		return strings.Contains(yamledit.TextAt(n, "path"), kubeVIP) || podRuns(content, kubeVIP)
	})
	if err != nil {
		return nil, err
	}
	for _, n := range files {
		notes = append(notes, "took out the file "+yamledit.TextAt(n, "path"))
	}
	for _, at := range commandsAt {
		commands, err := e.Drop(doc, at, func(n *yaml.Node) bool { return strings.Contains(wordsOf(n), kubeVIP) })
		if err != nil {
			return nil, err
		}
		for _, n := range commands {
			notes = append(notes, fmt.Sprintf("took out of %s: %s", at[len(at)-1], wordsOf(n)))
		}
	}
	return notes, nil
}

// wordsOf is a command on one line: a text, or a list of words as cloud-init has it.
func wordsOf(n *yaml.Node) string {
	words := strings.Fields(n.Value)
	for _, sub := range n.Content {
		words = append(words, strings.Fields(sub.Value)...)
	}
	return strings.Join(words, " ")
}

// podRuns tells that a text is a pod with an image of that name.
func podRuns(text, image string) bool {
	var doc yaml.Node
	if yaml.Unmarshal([]byte(text), &doc) != nil || len(doc.Content) == 0 || yamledit.TextAt(doc.Content[0], "kind") != "Pod" {
		return false
	}
	containers := yamledit.At(doc.Content[0], "spec", "containers")
	return containers != nil && slices.ContainsFunc(containers.Content, func(c *yaml.Node) bool {
		return strings.Contains(yamledit.TextAt(c, "image"), image)
	})
}

// leftovers are notes about the lines that still speak of kube-vip, such as a patch of a ClusterClass.
func leftovers(text []byte) (notes []string) {
	line := 0
	for l := range strings.Lines(string(text)) {
		line++
		if strings.Contains(l, kubeVIP) {
			notes = append(notes, fmt.Sprintf("%s is still named in line %d of the result: %s", kubeVIP, line, strings.TrimSpace(l)))
		}
	}
	return notes
}
