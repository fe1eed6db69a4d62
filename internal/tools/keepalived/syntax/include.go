package syntax

import (
	"path/filepath"
	"slices"
	"strings"
)

// checks says what of an include is a fault, and no longer only a line in the log.
type checks struct{ match, wildcard, brace bool }

// includes are the keywords and what each asks for.
var includes = map[string]checks{
	"include":  {},
	"includer": {},
	"includem": {match: true},
	"includew": {wildcard: true},
	"includeb": {brace: true},
	"includea": {match: true, wildcard: true, brace: true},
}

// include looks whether text names files to read, and opens them. The whole rest of the line is the name, quotes and all.
func (r *reader) include(l line, text string) bool {
	word, name, _ := strings.Cut(text, " ")
	if w, n, found := strings.Cut(text, "\t"); found && len(w) < len(word) {
		word, name = w, n
	}
	want, ok := includes[word]
	if name = trim(name); !ok || name == "" {
		return false
	}
	if strings.ContainsAny(name, `"'`) {
		r.problem(l.at, CodeInclude, "keepalived takes quotes for a part of the file's name: "+name, "write the name without quotes")
		return true
	}
	if len(r.sources) >= maxDepth {
		r.problem(l.at, CodeInclude, "files include each other more than 16 deep", "look for a file that includes itself")
		return true
	}
	r.openAll(l, name, want)
	return true
}

// openAll opens the files that match, so that the first is read first.
func (r *reader) openAll(l line, name string, want checks) {
	if !filepath.IsAbs(name) && l.set != nil {
		r.problem(l.at, CodeInclude, "a relative name in a sequence: keepalived looks for it beside the file that it read last", "want an absolute name")
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(r.dir(), name)
	}
	patterns := braces(name)
	var paths []string
	for _, p := range patterns {
		wild := strings.ContainsAny(p, "*?[")
		found := []string{p}
		if wild {
			var err error
			if found, err = r.files.Glob(p); err != nil {
				r.problem(l.at, CodeInclude, p+" is no pattern: "+err.Error(), "")
			}
		}
		if wild && len(found) == 0 && (want.wildcard || want.brace && len(patterns) > 1) {
			r.problem(l.at, CodeInclude, "no file matches "+p, "keepalived does not start without one: use include where none is right, too")
		}
		paths = append(paths, found...)
	}
	slices.Reverse(paths) // the last one opened is read first
	for _, p := range paths {
		if err := r.open(p); err != nil {
			r.problems = append(r.problems, problem{
				At: l.at, Code: CodeInclude, Minor: !want.match && !want.wildcard && !want.brace,
				Text: "the included file is missing: " + err.Error(), Remedy: "keepalived logs it and goes on without: name a file that is there, or use a pattern",
			})
		}
	}
}

// dir is what relative paths are relative to: the directory of the file that is being read.
func (r *reader) dir() string {
	if n := len(r.sources); n > 0 {
		return r.sources[n-1].dir
	}
	return r.root
}
