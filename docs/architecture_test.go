package docs_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/keepvip/keepvip"

// room is one row of the table in architecture.md.
type room struct {
	name           string
	rooms, outside []string
}

var quoted = regexp.MustCompile("`([^`]+)`")

func readTable(t *testing.T) map[string]room {
	t.Helper()
	text, err := os.ReadFile("architecture.md")
	require.NoError(t, err)
	table := map[string]room{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || !strings.Contains(cells[1], "`") {
			continue
		}
		r := room{name: strings.TrimPrefix(codes(cells[1])[0], "internal/"), rooms: codes(cells[3]), outside: codes(cells[4])}
		table[r.name] = r
	}
	return table
}

func codes(cell string) []string {
	var out []string
	for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
		out = append(out, m[1])
	}
	return out
}

// imports lists what the files of every room import, tests left out.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		if d.IsDir() && path != ".." && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		if d.IsDir() && path != ".." && isModule(path) {
			return filepath.SkipDir // nothing of it is in the program
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		require.NoError(t, err)
		room := roomOf(filepath.ToSlash(filepath.Dir(strings.TrimPrefix(filepath.ToSlash(path), "../"))))
		names := found[room] // of a room that imports nothing there are none
		for _, i := range file.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			require.NoError(t, err)
			if strings.HasPrefix(name, module) {
				assert.Nil(t, i.Name, "%s: %s under another name: a package that needs one has the wrong name", path, name)
			}
			names = append(names, name)
		}
		found[room] = names
		return nil
	})
	require.NoError(t, err)
	return found
}

func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// roomOf is the room that a directory belongs to, as the table names it in its first column.
func roomOf(dir string) string {
	top, below, _ := strings.Cut(dir, "/")
	switch top {
	case "internal":
		room, _, _ := strings.Cut(below, "/")
		return room
	case "vrrp", "arp", "members":
		return "wire"
	}
	return top
}

func TestImportsFollowTheTable(t *testing.T) {
	table, found := readTable(t), imports(t)
	require.NotEmpty(t, table)
	for dir, names := range found {
		r, ok := table[dir]
		if !assert.True(t, ok, "room %s has no row in architecture.md", dir) {
			continue
		}
		for _, name := range names {
			assert.True(t, r.allows(name), "%s imports %s, which its row in architecture.md does not list", dir, name)
		}
	}
	for name, r := range table {
		assert.Contains(t, slices.Collect(maps.Keys(found)), name, "architecture.md has a row for a room that does not exist")
		for _, unused := range r.unused(found[name]) {
			assert.Fail(t, "an arrow that is not in the code", "%s does not import %s, which its row in architecture.md lists", name, unused)
		}
	}
}

// unused are what the row lists, and the files of the room do not import.
func (r room) unused(imported []string) (out []string) {
	for _, name := range slices.Concat(r.rooms, r.outside) {
		uses := func(i string) bool {
			if rest, ours := strings.CutPrefix(i, module+"/"); ours {
				return roomOf(rest) == name
			}
			return i == name || slices.Contains(r.outside, name) && strings.HasPrefix(i, name+"/")
		}
		if !slices.ContainsFunc(imported, uses) {
			out = append(out, name)
		}
	}
	return out
}

func (r room) allows(name string) bool {
	if rest, ours := strings.CutPrefix(name, module+"/"); ours {
		return roomOf(rest) == r.name || slices.Contains(r.rooms, roomOf(rest))
	}
	if first, _, _ := strings.Cut(name, "/"); !strings.Contains(first, ".") {
		return true // the standard library
	}
	return slices.ContainsFunc(r.outside, func(o string) bool { return name == o || strings.HasPrefix(name, o+"/") })
}

func TestTheTableHasNoCycle(t *testing.T) {
	table := readTable(t)
	var visit func(name string, path []string)
	visit = func(name string, path []string) {
		require.NotContains(t, path, name, "rooms import each other")
		for _, next := range table[name].rooms {
			visit(next, append(slices.Clone(path), name))
		}
	}
	for name := range table {
		visit(name, nil)
	}
}

// Under the race detector a bubble that another package makes ends the process now and then.
func TestBubblesAreMadeByTheirPackage(t *testing.T) {
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		if !strings.HasSuffix(path, ".go") || filepath.Base(filepath.Dir(path)) == "bubble" {
			return nil
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.NotContains(t, string(text), "synctest"+".Test(", "%s: bubble.Test is used instead", path)
		return nil
	})
	require.NoError(t, err)
}
