package kubevip

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/keepvip/keepvip/kubeadm/yamledit"
)

// deepest bounds texts within texts: a patch of a ClusterClass has a list of files, and one of these the manifest.
const deepest = 4

// embedded are the kube-vips that are below the top of an object: pods of a Talos machine, and the files, manifests and scripts that templates
// have as text. Their lines are those of the file.
func embedded(name string, d *yaml.Node) (found []source) {
	for _, sub := range d.Content {
		found = append(found, below(name, "", sub, deepest)...)
	}
	return found
}

// below looks at a node and at everything in it. path is that of the file whose content it is, on the node.
func below(name, path string, n *yaml.Node, depth int) (found []source) {
	switch {
	case depth == 0:
		return nil
	case n.Kind == yaml.ScalarNode:
		return inText(name, path, n, n.Value, false, depth)
	case n.Kind == yaml.MappingNode && len(containersOf(n)) > 0:
		for _, c := range containersOf(n) {
			s := fromPod(n, c)
			s.path = path
			found = append(found, s)
		}
		return found
	}
	if content := yamledit.At(n, "content"); content != nil && content.Kind == yaml.ScalarNode {
		text, encoded := yamledit.ContentAt(n)
		return inText(name, yamledit.TextAt(n, "path"), content, text, encoded, depth)
	}
	for _, sub := range n.Content {
		found = append(found, below(name, path, sub, depth)...)
	}
	return found
}

// inText looks at the documents that a text holds, or that a script in it writes.
func inText(name, path string, at *yaml.Node, text string, encoded bool, depth int) (found []source) {
	if !strings.Contains(text, program) {
		return nil
	}
	for _, part := range append(heredocs(text), heredoc{text: text}) {
		docs, err := documents(name, []byte(part.text))
		if err != nil {
			continue // another text, which kube-vip cannot be
		}
		for _, d := range docs {
			move(d, at, part.before, encoded)
			found = append(found, below(name, path, d, depth-1)...)
		}
		if len(found) > 0 {
			return found
		}
	}
	return found
}

// heredoc is a text that a shell script gives to a command.
type heredoc struct {
	text   string
	before int // lines of the script before it
}

// heredocs are those of a script, up to the first that is not ended.
func heredocs(script string) (out []heredoc) {
	lines := strings.SplitAfter(script, "\n")
	for i := 0; i < len(lines); i++ {
		_, word, begins := strings.Cut(lines[i], "<<")
		word = strings.Trim(firstWord(strings.TrimPrefix(word, "-")), `'"\`)
		if !begins || word == "" {
			continue
		}
		first := i + 1
		for i = first; i < len(lines) && strings.TrimSpace(lines[i]) != word; i++ {
		}
		if i == len(lines) {
			return out
		}
		out = append(out, heredoc{strings.Join(lines[first:i], ""), first})
	}
	return out
}

func firstWord(s string) string {
	if words := strings.Fields(s); len(words) > 0 {
		return words[0]
	}
	return ""
}

// move gives the nodes of a text their lines in the file that the text is in: below its first line, where it has lines of its own there.
func move(n, content *yaml.Node, before int, encoded bool) {
	if content.Style&yaml.LiteralStyle != 0 && !encoded {
		n.Line += content.Line + before
	} else {
		n.Line = content.Line
	}
	for _, sub := range n.Content {
		move(sub, content, before, encoded)
	}
}
