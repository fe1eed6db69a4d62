package kubeadm

import (
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MergeCloudInit puts the files and commands into user data that is there already, called name in errors. A file of the same
// path is replaced where it stands; the commands come first, because the others may be kubeadm. Merging twice changes nothing
// more. Every other line stays as it is. With an error nothing is rendered.
func MergeCloudInit(name string, userData []byte, cfg CloudInitConfig) ([]byte, error) {
	add, err := cfg.render()
	if err != nil {
		return nil, err
	}
	e := editor{name: name, text: slices.Clone(userData)}
	if err := e.cloudConfigHeader(); err != nil {
		return nil, err
	}
	docs, err := e.documents()
	switch {
	case err != nil:
		return nil, err
	case len(docs) == 0:
		lines, err := block(add, 0)
		if err != nil {
			return nil, err
		}
		n := len(e.lines())
		e.replace(n, n, lines)
		return e.text, nil
	case len(docs) > 1:
		return nil, e.fail(0, "%d YAML documents, want one", len(docs))
	}
	if err := e.dropOtherForm(0, cfg.Files, []string{cloudFilesKey}, []string{cloudRunKey}); err != nil {
		return nil, err
	}
	for _, f := range add.WriteFiles {
		if err := e.putItem(0, []string{cloudFilesKey}, f, func(n *yaml.Node) bool { return textAt(n, "path") == f.Path }); err != nil {
			return nil, err
		}
	}
	for i, c := range add.RunCmd {
		if err := e.putCommand(i, c); err != nil {
			return nil, err
		}
	}
	return e.text, nil
}

// cloudConfigHeader refuses scripts, MIME parts and whatever else user data may be.
func (e *editor) cloudConfigHeader() error {
	lines := e.lines()
	if len(lines) > 0 && strings.TrimSpace(lines[0]) == "## template: jinja" {
		lines = lines[1:]
	}
	if len(lines) == 0 || strings.TrimSpace(lines[0]) != cloudHeader {
		return e.fail(1, "no %s user data, want that line first (a script or MIME parts cannot be merged into)", cloudHeader)
	}
	return nil
}

// dropOtherForm takes a unit out where a static pod goes in, and the reverse: both would be two keepvips on a node.
func (e *editor) dropOtherForm(doc int, files []File, filesAt, commandsAt []string) error {
	other := UnitPath
	for _, f := range files {
		if f.Path == UnitPath {
			other = ManifestPath
		}
	}
	if _, err := e.drop(doc, filesAt, func(n *yaml.Node) bool { return textAt(n, "path") == other }); err != nil {
		return err
	}
	if other == ManifestPath {
		return nil
	}
	enable := []string{"systemctl", "enable", "--now", "keepvip"}
	_, err := e.drop(doc, commandsAt, func(n *yaml.Node) bool {
		var words []string
		return n.Value == strings.Join(enable, " ") || n.Decode(&words) == nil && slices.Equal(words, enable)
	})
	return err
}

// putItem puts an item into a list in place of the first that matches, and takes out all others that do.
func (e *editor) putItem(doc int, path []string, item any, match func(*yaml.Node) bool) error {
	list, err := e.listAt(doc, path)
	if err != nil {
		return err
	}
	index := slices.IndexFunc(list, match)
	if index >= 0 && saysTheSame(list[index], item) {
		return nil
	}
	if _, err := e.drop(doc, path, match); err != nil {
		return err
	}
	return e.insert(doc, path, index, item)
}

// putCommand makes a command the one of that index, and takes out where it stood before.
func (e *editor) putCommand(index int, c command) error {
	same := func(n *yaml.Node) bool {
		var words []string
		return n.Kind == yaml.SequenceNode && n.Decode(&words) == nil && slices.Equal(words, c)
	}
	path := []string{cloudRunKey}
	list, err := e.listAt(0, path)
	if err != nil || index < len(list) && same(list[index]) {
		return err
	}
	if _, err := e.drop(0, path, same); err != nil {
		return err
	}
	return e.insert(0, path, index, c)
}

// saysTheSame tells that an item need not be written again, with the comments that it may have got.
func saysTheSame(n *yaml.Node, item any) bool {
	var old any
	want, err := plainValue(item)
	return err == nil && n.Decode(&old) == nil && reflect.DeepEqual(old, want)
}
