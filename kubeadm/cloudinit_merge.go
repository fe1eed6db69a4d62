package kubeadm

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/keepvip/keepvip/kubeadm/yamledit"
)

// MergeCloudInit puts the files and commands into user data that is there already, called name in errors. A file of the same
// path is replaced where it stands; the commands come first, because the others may be kubeadm. Merging twice changes nothing
// more. Every other line stays as it is. With an error nothing is rendered.
func MergeCloudInit(name string, text []byte, files []File, commands [][]string) ([]byte, error) {
	merged, _, err := mergeCloudInit(yamledit.New(name, text), files, commands, func(*yamledit.Editor) ([]string, error) { return nil, nil })
	return merged, err
}

// ReplaceKubeVIP is [MergeCloudInit] without commands, and takes out the files of kube-vip and the commands that
// prepare them. The notes, a line each, say what was taken out and what is left to a person.
func ReplaceKubeVIP(name string, text []byte, files []File) (merged []byte, notes []string, err error) {
	e := yamledit.New(name, text)
	var stay kept
	merged, notes, err = mergeCloudInit(e, files, nil, func(e *yamledit.Editor) (notes []string, err error) {
		stay, notes, err = dropKubeVIP(e, 0, []string{cloudFilesKey}, []string{cloudBootKey}, []string{cloudRunKey})
		return notes, err
	})
	if err == nil {
		err = remains(e, stay)
	}
	if err != nil {
		return nil, nil, err
	}
	return merged, append(notes, leftovers(merged, stay)...), nil
}

// IsCloudInit tells that a text is user data that can be merged into.
func IsCloudInit(text []byte) bool { return cloudConfigHeader(yamledit.New("", text)) == nil }

// mergeCloudInit merges after prepare has changed the one document that there is.
func mergeCloudInit(
	e *yamledit.Editor, files []File, commands [][]string, prepare func(*yamledit.Editor) ([]string, error),
) (merged []byte, notes []string, err error) {
	add, err := userData(files, commands)
	if err != nil {
		return nil, nil, err
	}
	if err := cloudConfigHeader(e); err != nil {
		return nil, nil, err
	}
	docs, err := e.Documents()
	switch {
	case err != nil:
		return nil, nil, err
	case len(docs) == 0:
		if err := e.Append(add); err != nil {
			return nil, nil, err
		}
		return e.Bytes(), nil, nil
	case len(docs) > 1:
		return nil, nil, e.Errorf(0, "%d YAML documents, want one", len(docs))
	}
	if notes, err = prepare(e); err != nil {
		return nil, nil, err
	}
	if err := mergeLists(e, 0, []string{cloudFilesKey}, add.WriteFiles, []string{cloudRunKey}, add.RunCmd, runs); err != nil {
		return nil, nil, err
	}
	return e.Bytes(), notes, nil
}

// mergeLists puts files into the list at one path, and commands in front of those at another, where same matches one. What the
// other form of keepvip needs goes.
func mergeLists[C any](e *yamledit.Editor, doc int, filesAt []string, files []fileEntry, commandsAt []string, commands []C, same func(C) yamledit.Match) error {
	if err := dropOtherForm(e, doc, files, filesAt, commandsAt); err != nil {
		return err
	}
	for _, f := range files {
		if err := e.Put(doc, filesAt, f, hasPath(f.Path)); err != nil {
			return err
		}
	}
	for i, c := range commands {
		if err := e.PutAt(doc, commandsAt, i, c, same(c)); err != nil {
			return err
		}
	}
	return nil
}

// cloudConfigHeader refuses scripts, MIME parts and whatever else user data may be.
func cloudConfigHeader(e *yamledit.Editor) error {
	text := string(e.Bytes())
	if first, rest, _ := strings.Cut(text, "\n"); strings.TrimSpace(first) == "## template: jinja" {
		text = rest
	}
	if first, _, _ := strings.Cut(text, "\n"); strings.TrimSpace(first) != cloudHeader {
		return e.Errorf(1, "no %s user data, want that line first (a script or MIME parts cannot be merged into)", cloudHeader)
	}
	return nil
}

// dropOtherForm takes a unit out where a static pod goes in, and the reverse: both would be two keepvips on a node.
func dropOtherForm(e *yamledit.Editor, doc int, files []fileEntry, filesAt, commandsAt []string) error {
	other := UnitPath
	for _, f := range files {
		if f.Path == UnitPath {
			other = ManifestPath
		}
	}
	if _, err := e.Drop(doc, filesAt, hasPath(other)); err != nil || other == ManifestPath {
		return err
	}
	enable := command{"systemctl", "enable", "--now", "keepvip"}
	_, err := e.Drop(doc, commandsAt, func(n *yaml.Node) bool {
		return n.Value == strings.Join(enable, " ") || runs(enable)(n)
	})
	return err
}

// hasPath matches a file's entry.
func hasPath(path string) yamledit.Match {
	return func(n *yaml.Node) bool { return yamledit.TextAt(n, "path") == path }
}

// runs matches a command that is a list of words.
func runs(c command) yamledit.Match {
	return func(n *yaml.Node) bool {
		var words []string
		return n.Kind == yaml.SequenceNode && n.Decode(&words) == nil && slices.Equal(words, c)
	}
}
