package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const module = "github.com/keepvip/keepvip"

// pack is one package of the product, with its types checked.
type pack struct {
	path    string // within the module
	lines   int
	imports []string // of the module, and within it
	types   *types.Package
	info    *types.Info
}

// listed is what `go list` says of a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles, Imports        []string
}

// load checks every package of the product. Its dependencies are read from what the compiler has exported.
func load(dir string) ([]pack, error) {
	cmd := exec.Command("go", "list", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles,Imports", "./...")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	all := map[string]listed{}
	var ours []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := d.Decode(&l); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		all[l.ImportPath] = l
		if product(l.ImportPath) {
			ours = append(ours, l)
		}
	}
	files := token.NewFileSet()
	from := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(all[path].Export) })
	var packages []pack
	for _, l := range ours {
		p, err := check(files, from, l)
		if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
	return packages, nil
}

// product tells whether a package is part of what a user runs.
func product(path string) bool {
	rest, ours := strings.CutPrefix(path, module+"/")
	top, _, _ := strings.Cut(rest, "/")
	return ours && top != "netns-tests" && top != "docs" && top != "packaging"
}

func check(files *token.FileSet, from types.Importer, l listed) (pack, error) {
	p := pack{path: strings.TrimPrefix(l.ImportPath, module+"/"), info: &types.Info{Uses: map[*ast.Ident]types.Object{}}}
	for _, i := range l.Imports {
		if rest, ours := strings.CutPrefix(i, module+"/"); ours {
			p.imports = append(p.imports, rest)
		}
	}
	var syntax []*ast.File
	for _, name := range l.GoFiles {
		text, err := os.ReadFile(filepath.Join(l.Dir, name))
		if err != nil {
			return p, err
		}
		p.lines += bytes.Count(text, []byte("\n"))
		f, err := parser.ParseFile(files, filepath.Join(l.Dir, name), text, parser.SkipObjectResolution)
		if err != nil {
			return p, err
		}
		syntax = append(syntax, f)
	}
	var err error
	if p.types, err = (&types.Config{Importer: from}).Check(l.ImportPath, files, syntax, p.info); err != nil {
		return p, fmt.Errorf("check %s: %w", l.ImportPath, err)
	}
	return p, nil
}
