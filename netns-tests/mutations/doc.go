// Package mutations is a table of defects, chosen over all rooms of the product, each of which a test has to find. It says of each how the source
// becomes defective, and which test sees that. `make mutations` tries them one after the other.
//
// Left out: running them, which is the runner's (netns-tests/cmd/mutations).
//
// There are no goroutines.
package mutations

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Mutation is one defect: in a file, a text becomes another one.
type Mutation struct {
	Name     string // a few words for the table
	File     string // below the module's root
	Old, New string // Old occurs once in the file
	Test     string // that finds it, as for -run; its name is in the table
	Netns    bool   // the test needs network namespaces, and so root
}

// Package is that of the file, and of the test, as the go command takes it.
func (m Mutation) Package() string { return "./" + path.Dir(m.File) }

// Mutated is the whole file with the defect. The error says that the text is not there, or more than once: the table follows the source.
func (m Mutation) Mutated(root string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(root, m.File))
	if err != nil {
		return nil, fmt.Errorf("mutations: %s: %w", m.Name, err)
	}
	if n := strings.Count(string(b), m.Old); n != 1 {
		return nil, fmt.Errorf("mutations: %s: the old text is %d times in %s, want it once: write the table anew for it", m.Name, n, m.File)
	}
	return []byte(strings.Replace(string(b), m.Old, m.New, 1)), nil
}

// All are all of them.
func All() []Mutation {
	var all []Mutation
	for _, room := range [][]Mutation{wire(), elections(), serving(), kernel(), checks(), node(), tools()} {
		all = append(all, room...)
	}
	return all
}
