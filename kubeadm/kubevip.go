package kubeadm

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/keepvip/keepvip/kubeadm/yamledit"
)

// kubeVIP is what gives away the files and commands of the program that keepvip takes the place of.
const kubeVIP = "kube-vip"

// dropKubeVIP takes out the files of kube-vip and the commands that prepare them, and says so in a line each. A kube-vip that serves Services
// alone stays, with what does not belong to another one.
func dropKubeVIP(e *yamledit.Editor, doc int, filesAt []string, commandsAt ...[]string) (stay kept, notes []string, err error) {
	docs, err := e.Documents()
	if err != nil {
		return nil, nil, err
	}
	files := itemsAt(docs[doc], filesAt)
	for _, p := range jsonPatches(docs) {
		if n := p.template(); n != nil {
			files = append(slices.Clone(files), n)
		}
	}
	stay = keptIn(files)
	notes = stay.notes()
	var dropped []string
	drop := func(match yamledit.Match) error {
		files, err := e.Drop(doc, filesAt, match)
		for _, n := range files {
			path := yamledit.TextAt(n, "path")
			dropped = append(dropped, path)
			notes = append(notes, "took out the file "+path)
			if taskOf(n).services {
				notes = append(notes, fmt.Sprintf("%s: %s, which lose their addresses: to keep them put the file back, with cp_enable false and without address (docs/services.md)", path, servesServices))
			}
		}
		return err
	}
	pod := func(n *yaml.Node) bool {
		content, _ := yamledit.ContentAt(n)
		return podRuns(content, kubeVIP) && !taskOf(n).servicesAlone()
	}
	belongs := func(n *yaml.Node) bool {
		content, _ := yamledit.ContentAt(n)
		return strings.Contains(yamledit.TextAt(n, "path"), kubeVIP) && !taskOf(n).servicesAlone() && stay.gone(content, dropped)
	}
	if len(stay) > 0 { // what belongs to a pod is known by its path
		err = drop(pod)
	}
	if err == nil {
		err = drop(func(n *yaml.Node) bool { return pod(n) || belongs(n) })
	}
	if err != nil {
		return nil, nil, err
	}
	for _, at := range commandsAt {
		commands, err := e.Drop(doc, at, func(n *yaml.Node) bool {
			return strings.Contains(wordsOf(n), kubeVIP) && stay.gone(wordsOf(n), dropped)
		})
		if err != nil {
			return nil, nil, err
		}
		for _, n := range commands {
			notes = append(notes, fmt.Sprintf("took out of %s: %s", at[len(at)-1], wordsOf(n)))
		}
	}
	return stay, notes, nil
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

// named is kube-vip, as variables of templates spell it, too.
var named = regexp.MustCompile(`(?i)kube[-_]?vip`)

// runsAt are the keys whose values a node would run, write or be given: a value with kube-vip is one that is still there.
var runsAt = []string{"content", "contents", "path", "template", "variable", "value", "image", "preKubeadmCommands", "postKubeadmCommands", cloudBootKey, cloudRunKey}

// remains refuses a result that would run kube-vip beside keepvip, such as by a patch of a ClusterClass, with a line for each place. Where a
// kube-vip stays on purpose, so does what belongs to it in the lists that it is in.
func remains(e *yamledit.Editor, stay kept) error {
	docs, err := e.Documents()
	if err != nil {
		return err
	}
	errs := stays(e, docs, stay, "take this out, or have it name keepvip's manifest (keepvip manifest pod), and begin again")
	return errors.Join(errs[:min(len(errs), mostRemains)]...)
}

// listsOfKubeVIP are the lists from which kube-vip's entries are taken out.
var listsOfKubeVIP = []string{"files", "preKubeadmCommands", "postKubeadmCommands", cloudFilesKey, cloudBootKey, cloudRunKey}

// documentOf is what a text says as YAML, or nothing.
func documentOf(text string) *yaml.Node {
	var doc yaml.Node
	if yaml.Unmarshal([]byte(text), &doc) != nil || len(doc.Content) == 0 {
		return &yaml.Node{}
	}
	return doc.Content[0]
}

// stays are the errors about the places at which documents would run kube-vip, with what to do.
func stays(e *yamledit.Editor, docs []*yaml.Node, stay kept, remedy string) (errs []error) {
	var look func(key string, n *yaml.Node, within bool)
	look = func(key string, n *yaml.Node, within bool) {
		switch {
		case n.Kind == yaml.MappingNode && taskOf(n).servicesAlone():
		case n.Kind == yaml.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				if key := n.Content[i].Value; key != "metadata" {
					look(key, n.Content[i+1], within || slices.Contains(listsOfKubeVIP, key))
				}
			}
		case n.Kind == yaml.SequenceNode:
			for _, sub := range n.Content {
				look(key, sub, within)
			}
		case key == "template" && taskOf(documentOf(n.Value)).servicesAlone():
		case within && len(stay) > 0 && !setsUpControlPlane().MatchString(n.Value):
		case slices.Contains(runsAt, key) && named.MatchString(n.Value):
			errs = append(errs, e.Errorf(n.Line, "kube-vip would stay beside keepvip, by %s: %s; %s", key, lineThatNames(n.Value), remedy))
		}
	}
	for _, d := range docs {
		look("", d, false)
	}
	return errs
}

// traces are the files and commands of kube-vip in the control planes of documents, with their lines.
func traces(docs []*yaml.Node) (out []string) {
	for _, d := range docs {
		for _, spec := range [][]string{{"spec", "template", "spec", "kubeadmConfigSpec"}, {"spec", "kubeadmConfigSpec"}} {
			for _, n := range itemsAt(d, append(slices.Clone(spec), "files")) {
				if at := yamledit.At(n, "path"); at != nil && strings.Contains(at.Value, kubeVIP) {
					out = append(out, fmt.Sprintf("%s (line %d)", at.Value, at.Line))
				}
			}
			for _, key := range []string{"preKubeadmCommands", "postKubeadmCommands"} {
				for _, n := range itemsAt(d, append(slices.Clone(spec), key)) {
					if strings.Contains(wordsOf(n), kubeVIP) {
						out = append(out, fmt.Sprintf("%s in %s (line %d)", wordsOf(n), key, n.Line))
					}
				}
			}
		}
	}
	return out
}

// mostRemains is how many places are named.
const mostRemains = 5

// lineThatNames is the line of a text that names kube-vip.
func lineThatNames(text string) string {
	for l := range strings.Lines(text) {
		if named.MatchString(l) {
			return strings.TrimSpace(l)
		}
	}
	return ""
}

// leftovers are notes about the lines that still speak of kube-vip, such as a comment. Where a kube-vip stays there are many.
func leftovers(text []byte, stay kept) (notes []string) {
	if len(stay) > 0 {
		return nil
	}
	line := 0
	for l := range strings.Lines(string(text)) {
		line++
		if strings.Contains(l, kubeVIP) {
			notes = append(notes, fmt.Sprintf("%s is still named in line %d of the result: %s", kubeVIP, line, strings.TrimSpace(l)))
		}
	}
	return notes
}
