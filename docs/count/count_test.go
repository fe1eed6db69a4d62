package main

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// checked is a package of one file.
func checked(t *testing.T, path, text string) pack {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path+".go", text, 0)
	require.NoError(t, err)
	p := pack{path: path, lines: 3, info: &types.Info{Uses: map[*ast.Ident]types.Object{}}}
	p.types, err = (&types.Config{Importer: importer.Default()}).Check(module+"/"+path, files, []*ast.File{f}, p.info)
	require.NoError(t, err)
	return p
}

func TestCount(t *testing.T) {
	p := checked(t, "vrrp", `package vrrp
type Member struct{}
type spreadMember struct{}
type membership struct{}
type Config struct{}
type Asks interface{ Ask(int) error }
type asked struct{}
func (*asked) Ask(n int) error { return nil }
func (*asked) Tell() {}
type Nobody interface{ Answer() }
`)
	p.imports = []string{"internal/base/code", "election"}
	got := map[string][]string{}
	for _, f := range count([]pack{p}) {
		got[f.what] = f.names
	}
	assert.Equal(t, []string{"vrrp.Member", "vrrp.spreadMember"}, got["struct types named Member, Backend or Target"])
	assert.Equal(t, []string{"vrrp.Config"}, got["structs named Config or Options"])
	assert.Equal(t, []string{"vrrp.Asks"}, got["interfaces with one implementation"])
	assert.Equal(t, []string{"vrrp.Asks", "vrrp.Config", "vrrp.Member", "vrrp.Nobody"}, got["exported names that one package uses"])
	assert.Equal(t, []string{"vrrp.asked.Tell"}, got["exported methods that one package uses, and no interface asks for"])
	assert.Equal(t, []string{"vrrp -> election"}, got["imports that go up"])
}

func TestCountManyMethods(t *testing.T) {
	text := "package arp\ntype Big struct{}\n"
	for i := range mostMethods + 1 {
		text += "func (Big) " + string(rune('A'+i)) + "() {}\n"
	}
	assert.Equal(t, []string{"arp.Big (26)"}, count([]pack{checked(t, "arp", text)})[1].names)
}
