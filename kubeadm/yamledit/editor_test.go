package yamledit

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

type entry struct {
	Path string `yaml:"path"`
	Text string `yaml:"text"`
}

func named(path string) Match {
	return func(n *yaml.Node) bool { return TextAt(n, "path") == path }
}

func TestEditorInserts(t *testing.T) {
	item := entry{"/new", "a\nb\n"}
	tests := []struct {
		name  string
		give  string
		path  []string
		index int
		want  string
	}{
		{
			"behind the last, before what belongs to the next key",
			"# head\nfiles:   # all\n- path: /a\n  text: |\n    # no comment\n\n# about run\nrun: [x]\n",
			[]string{"files"},
			-1,
			"# head\nfiles:   # all\n- path: /a\n  text: |\n    # no comment\n- path: /new\n  text: |\n    a\n    b\n\n# about run\nrun: [x]\n",
		},
		{
			"indented list at the end without a line break",
			"files:\n    - path: '/a'",
			[]string{"files"},
			-1,
			"files:\n    - path: '/a'\n    - path: /new\n      text: |\n        a\n        b\n",
		},
		{
			"in front, above the first one's comment",
			"files:\n# first\n- path: /a\n- path: /b\n",
			[]string{"files"},
			0,
			"files:\n- path: /new\n  text: |\n    a\n    b\n# first\n- path: /a\n- path: /b\n",
		},
		{
			"missing key goes to the end of its mapping",
			"spec:\n  a: 1\n  # last\nkind: X\n",
			[]string{"spec", "files"},
			-1,
			"spec:\n  a: 1\n  files:\n    - path: /new\n      text: |\n        a\n        b\n  # last\nkind: X\n",
		},
		{
			"missing keys on the way",
			"kind: X\n",
			[]string{"spec", "deep", "files"},
			-1,
			"kind: X\nspec:\n  deep:\n    files:\n      - path: /new\n        text: |\n          a\n          b\n",
		},
		{
			"no value", "files:\nkind: X\n",
			[]string{"files"},
			-1,
			"files:\n  - path: /new\n    text: |\n      a\n      b\nkind: X\n",
		},
		{
			"empty brackets", "spec: {}\n",
			[]string{"spec", "files"},
			-1,
			"spec:\n  files:\n    - path: /new\n      text: |\n        a\n        b\n",
		},
		{
			"list in brackets is unfolded", "files: [{path: /a, text: \"x\"}, {path: /b}] # all\nkind: X # kept\n",
			[]string{"files"},
			1,
			"files: # all\n  - {path: /a, text: \"x\"}\n  - path: /new\n    text: |\n      a\n      b\n  - {path: /b}\nkind: X # kept\n",
		},
		{
			"dash in a line of its own", "files:\n-\n  path: /a\n-\n  path: /b\n",
			[]string{"files"},
			1,
			"files:\n-\n  path: /a\n- path: /new\n  text: |\n    a\n    b\n-\n  path: /b\n",
		},
		{
			"beside a key that is no text", "files:\n- path: /a\n8080: x\n",
			[]string{"files"},
			-1,
			"files:\n- path: /a\n- path: /new\n  text: |\n    a\n    b\n8080: x\n",
		},
		{
			"second document keeps its distance", "a: 1\n---\nfiles:\n- path: /a\n---\nb: 2\n",
			[]string{"files"},
			-1,
			"a: 1\n---\nfiles:\n- path: /a\n- path: /new\n  text: |\n    a\n    b\n---\nb: 2\n",
		},
		{
			"lines that end as on Windows", "# head\r\nfiles:\r\n- path: /a\r\n\r\nkind: X",
			[]string{"files"},
			-1,
			"# head\r\nfiles:\r\n- path: /a\r\n- path: /new\r\n  text: |\r\n    a\r\n    b\r\n\r\nkind: X",
		},
		{
			"list in brackets, lines that end as on Windows", "files: [/a] # all\r\nkind: X\r\n",
			[]string{"files"},
			-1,
			"files: # all\r\n  - /a\r\n  - path: /new\r\n    text: |\r\n      a\r\n      b\r\nkind: X\r\n",
		},
		{
			"beside anchors, aliases and merged keys", "x: &a {path: /a}\nfiles:\n- *a\n- &b\n  <<: *a\n  text: b\ny: *b\n",
			[]string{"files"},
			1,
			"x: &a {path: /a}\nfiles:\n- *a\n- path: /new\n  text: |\n    a\n    b\n- &b\n  <<: *a\n  text: b\ny: *b\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := New("f.yaml", []byte(tt.give))
			doc := 0
			if strings.Contains(tt.name, "second document") {
				doc = 1
			}
			if tt.index < 0 {
				require.NoError(t, e.Add(doc, tt.path, item))
			} else {
				require.NoError(t, e.PutAt(doc, tt.path, tt.index, item, named("/new")))
			}
			assert.Equal(t, tt.want, string(e.Bytes()))
		})
	}
}

func TestEditorDrops(t *testing.T) {
	tests := []struct{ name, give, want string }{
		{
			"with the comment above it, without the one above the next",
			"files:\n- path: /a\n# the old\n- path: /x\n  text: |\n    # within\n# about b\n- path: /b\n",
			"files:\n- path: /a\n# about b\n- path: /b\n",
		},
		{"the last", "files:\n- path: /a\n- path: /x\n\nrun: 1\n", "files:\n- path: /a\n\nrun: 1\n"},
		{"the first", "files:\n  - path: /x\n  - path: /a\n", "files:\n  - path: /a\n"},
		{"two of them", "files:\n- path: /x\n- path: /a\n- path: /x\n", "files:\n- path: /a\n"},
		{"the only one", "files:\n- path: /x\n  text: |+\n    a\n\nrun: 1\n", "files: []\n\nrun: 1\n"},
		{"none", "files:\n- path: /a\n", "files:\n- path: /a\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := New("f.yaml", []byte(tt.give))
			_, err := e.Drop(0, []string{"files"}, named("/x"))
			require.NoError(t, err)
			assert.Equal(t, tt.want, string(e.Bytes()))
		})
	}
}

func TestEditorSets(t *testing.T) {
	e := New("f.yaml", []byte("a: 1 # one\nb:\n  c: 'x'\n  d: y\n# end\n"))
	require.NoError(t, e.Set(0, []string{"b", "c"}, "10.0.0.1:6443"))
	require.NoError(t, e.Set(0, []string{"e"}, "z"))
	assert.Equal(t, "a: 1 # one\nb:\n  c: 10.0.0.1:6443\n  d: y\ne: z\n# end\n", string(e.Bytes()))
	require.NoError(t, e.Append(map[string]any{"kind": "Z"}))
	assert.Equal(t, "a: 1 # one\nb:\n  c: 10.0.0.1:6443\n  d: y\ne: z\n# end\n---\nkind: Z\n", string(e.Bytes()))
}

// What is replaced keeps its place, the comment behind its key and the indentation of its list. What says the same stays.
func TestEditorReplaces(t *testing.T) {
	set := func(value any) func(*Editor) error {
		return func(e *Editor) error { return e.Set(0, []string{"files"}, value) }
	}
	put := func(e *Editor) error { return e.Put(0, []string{"files"}, entry{"/x", "y"}, named("/x")) }
	tests := []struct {
		name string
		edit func(*Editor) error
		give string
		want string
	}{
		{"a value with a comment", set("b"), "files: 'a'   # why\n", "files: b # why\n"},
		{"an item between blank lines", put, "files:\n- path: /a\n\n# old\n- path: /x\n\n- path: /b\n", "files:\n- path: /a\n\n- path: /x\n  text: \"y\"\n\n- path: /b\n"},
		{"the only item", put, "files: # all\n# old\n- path: /x\nrun: 1\n", "files: # all\n- path: /x\n  text: \"y\"\nrun: 1\n"},
		{"the same value", set("a"), "files: 'a'\n", "files: 'a'\n"},
		{"the same item", put, "files: [{path: /x, text: 'y'}]\n", "files: [{path: /x, text: 'y'}]\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := New("f.yaml", []byte(tt.give))
			require.NoError(t, tt.edit(e))
			assert.Equal(t, tt.want, string(e.Bytes()))
		})
	}
}

// An alias in another place would lose its anchor.
func TestEditorDropRefusesAnchor(t *testing.T) {
	const give = "files:\n- &x\n  path: /x\n- path: /a\ny: *x\n"
	e := New("f.yaml", []byte(give))
	_, err := e.Drop(0, []string{"files"}, named("/x"))
	assert.EqualError(t, err, "kubeadm: f.yaml: files cannot be changed without disturbing the rest, want it in plain block style")
	assert.Equal(t, give, string(e.Bytes()))
}

// What cannot be changed safely is left alone and named.
func TestEditorRefuses(t *testing.T) {
	tests := []struct{ name, give, want string }{
		{"not UTF-8", "a: \xff\n", "kubeadm: f.yaml: bytes that are no UTF-8, want text"},
		{"lines that the parser counts otherwise", "a: 1\rb: 1\r\rspec:\r  files:\r  - a\n", "kubeadm: f.yaml: a line break that is neither LF nor CRLF, want one of these"},
		{"not YAML", "a: [\n", "kubeadm: f.yaml:1: not valid YAML: did not find expected node content"},
		{"mapping in braces", "spec: {a: 1}\n", "kubeadm: f.yaml:1: spec is a mapping in braces, want a mapping with one line for each key"},
		{"no mapping", "spec: text\n", `kubeadm: f.yaml:1: spec is "text", want a mapping with one line for each key`},
		{"no list", "spec:\n  files: text\n", `kubeadm: f.yaml:2: spec.files is "text", want a list`},
		{"alias", "x: &a [1]\nspec:\n  files: *a\n", "kubeadm: f.yaml:3: spec.files is a YAML anchor or alias, want a list"},
		{"anchored", "spec:\n  files: &a\n  - path: /a\ny: *a\n", "kubeadm: f.yaml:2: spec.files is a YAML anchor or alias, want a list"},
		{"anchored above", "spec: &s\n  files:\n  - path: /a\ny: *s\n", "kubeadm: f.yaml:1: spec is a YAML anchor or alias, want a mapping with one line for each key"},
		{"blank lines that are text", "spec:\n  files:\n  - path: /a\n    text: |+\n      a\n\n\ny: 1\n", "kubeadm: f.yaml: spec.files cannot be changed without disturbing the rest, want it in plain block style"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := New("f.yaml", []byte(tt.give))
			err := e.Add(0, []string{"spec", "files"}, entry{"/new", "x"})
			assert.EqualError(t, err, tt.want)
			assert.Equal(t, tt.give, string(e.Bytes()))
		})
	}
}

// Whatever the text, a change is refused or says exactly what was wanted, and lines outside of it stay.
func FuzzEditor(f *testing.F) {
	for _, seed := range []string{
		"files:\n- path: /a\nrun:\n- [a, b]\n", "files: [a]\n", "#c\nfiles:\n  - |+\n    x\n\n  # c\n  - b\nz: {}\n",
		"files:\n- - a\n  - b\n- c\n", "? files\n: - a\n", "---\nfiles:\n---\na: 1\n", "files: \"a\\\n  b\"\n", "\"files\":\n- a # x\n...\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e := New("f", []byte(text))
		docs, err := e.Documents()
		if err != nil || len(docs) == 0 || len(text) > 4096 {
			return
		}
		before, err := e.values()
		if err != nil {
			return
		}
		if e.Add(0, []string{"files"}, "new") != nil {
			return
		}
		after, err := e.values()
		require.NoError(t, err)
		assert.Equal(t, before[1:], after[1:])
		docs, err = e.Documents()
		require.NoError(t, err)
		list := At(docs[0], "files").Content
		assert.Equal(t, "new", list[len(list)-1].Value)
	})
}
