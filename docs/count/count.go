package main

import (
	"fmt"
	"go/types"
	"regexp"
	"slices"
	"strings"
)

const mostMethods = 25

// figure is one row of the table.
type figure struct {
	number int
	what   string
	names  []string
}

var (
	anotherNode = regexp.MustCompile(`(?i)^[a-z]*(member|backend|target)(at|status|report|doc)?$`)
	settings    = regexp.MustCompile(`(?i)^[a-z]*(config|options)$`)
)

func count(packages []pack) []figure {
	lines := figure{what: "product lines"}
	methods := figure{what: fmt.Sprintf("types with more than %d methods", mostMethods)}
	nodes := figure{what: "struct types named Member, Backend or Target"}
	configs := figure{what: "structs named Config or Options"}
	single := figure{what: "interfaces with one implementation"}
	lonely := figure{what: "exported names that one package uses"}
	lonelyMethods := figure{what: "exported methods that one package uses, and no interface asks for"}
	upward := figure{what: "imports that go up"}
	used, demanded := usedElsewhere(packages), interfaceMethods(packages)
	for _, p := range packages {
		lines.number += p.lines
		for _, name := range p.types.Scope().Names() {
			at := p.path + "." + name
			obj := p.types.Scope().Lookup(name)
			if obj.Exported() && p.types.Name() != "main" && !used[key(obj)] {
				lonely.names = append(lonely.names, at)
			}
			t, ok := obj.(*types.TypeName)
			if !ok || t.IsAlias() {
				continue
			}
			if named, ok := t.Type().(*types.Named); ok {
				if n := named.NumMethods(); n > mostMethods {
					methods.names = append(methods.names, fmt.Sprintf("%s (%d)", at, n))
				}
				for m := range named.Methods() {
					if m.Exported() && !used[key(m)] && !demanded[m.Name()] {
						lonelyMethods.names = append(lonelyMethods.names, at+"."+m.Name())
					}
				}
			}
			switch u := t.Type().Underlying().(type) {
			case *types.Struct:
				if anotherNode.MatchString(name) {
					nodes.names = append(nodes.names, at)
				}
				if settings.MatchString(name) {
					configs.names = append(configs.names, at)
				}
			case *types.Interface:
				if _, param := t.Type().(*types.Named); param && u.NumMethods() > 0 && implementations(packages, t) == 1 {
					single.names = append(single.names, at)
				}
			}
		}
		for _, i := range p.imports {
			if !allowed(roomOf(p.path), roomOf(i)) {
				upward.names = append(upward.names, p.path+" -> "+i)
			}
		}
	}
	rows := []figure{lines, methods, nodes, configs, single, lonely, lonelyMethods, upward}
	for i := range rows {
		if rows[i].number == 0 {
			rows[i].number = len(rows[i].names)
		}
		slices.Sort(rows[i].names)
	}
	return rows
}

// key names an object of a package, or a method, in the same way where it is declared and where it is used.
func key(obj types.Object) string {
	if f, ok := obj.(*types.Func); ok {
		return f.Origin().FullName()
	}
	return obj.Pkg().Path() + "." + obj.Name()
}

// interfaceMethods has the names of the methods of all interfaces that the product, or a package that it imports, declares.
func interfaceMethods(packages []pack) map[string]bool {
	names := map[string]bool{"Error": true, "Unwrap": true, "Is": true}
	note := func(p *types.Package) {
		for _, name := range p.Scope().Names() {
			if i, ok := p.Scope().Lookup(name).Type().Underlying().(*types.Interface); ok {
				for m := range i.Methods() {
					names[m.Name()] = true
				}
			}
		}
	}
	for _, p := range packages {
		note(p.types)
		for _, i := range p.types.Imports() {
			note(i)
		}
	}
	return names
}

// usedElsewhere has the names of packages, and the methods, that a package of the product uses which does not declare them.
func usedElsewhere(packages []pack) map[string]bool {
	used := map[string]bool{}
	for _, p := range packages {
		for _, obj := range p.info.Uses {
			if obj.Pkg() != nil && obj.Pkg().Path() != p.types.Path() && !isField(obj) {
				used[key(obj)] = true
			}
		}
	}
	return used
}

func isField(obj types.Object) bool {
	v, ok := obj.(*types.Var)
	return ok && v.IsField()
}

// implementations counts the types of the product that have the interface's methods, by their names and signatures as text: a type that was
// read from an export is another object than the same type that was checked.
func implementations(packages []pack, of *types.TypeName) (n int) {
	want := signatures(types.NewMethodSet(of.Type()))
	for _, p := range packages {
		for _, name := range p.types.Scope().Names() {
			t, ok := p.types.Scope().Lookup(name).(*types.TypeName)
			if !ok || t.IsAlias() || types.IsInterface(t.Type()) {
				continue
			}
			have := signatures(types.NewMethodSet(types.NewPointer(t.Type())))
			if !slices.ContainsFunc(want, func(s string) bool { return !slices.Contains(have, s) }) {
				n++
			}
		}
	}
	return n
}

func signatures(set *types.MethodSet) (out []string) {
	for i := range set.Len() {
		m := set.At(i).Obj()
		name := m.Name()
		if !m.Exported() {
			name = m.Pkg().Path() + "." + name
		}
		out = append(out, name+" "+types.TypeString(withoutNames(m.Type().(*types.Signature)), nil))
	}
	return out
}

// withoutNames is the signature without the names of its parameters.
func withoutNames(s *types.Signature) *types.Signature {
	bare := func(t *types.Tuple) *types.Tuple {
		var vars []*types.Var
		for i := range t.Len() {
			vars = append(vars, types.NewParam(0, nil, "", t.At(i).Type()))
		}
		return types.NewTuple(vars...)
	}
	return types.NewSignatureType(nil, nil, nil, bare(s.Params()), bare(s.Results()), s.Variadic())
}

// law says which rooms a room may import, besides itself; `*` is all.
var law = map[string][]string{
	"cmd":      {"*"},
	"tools":    {"kubeadm", "node", "serve", "kernel", "wire", "config", "base"},
	"node":     {"serve", "check", "election", "kernel", "wire", "config", "base"},
	"serve":    {"check", "election", "kernel", "wire", "config", "base"},
	"election": {"wire", "base"},
	"kernel":   {"wire", "base"},
	"wire":     {"base"},
	"config":   {"base"},
	"check":    {"config", "base"},
	"base":     {"docs"},
}

func allowed(from, to string) bool {
	return from == to || slices.Contains(law[from], to) || slices.Contains(law[from], "*")
}

// roomOf is the room of a package, as docs/architecture.md names it.
func roomOf(path string) string {
	parts := strings.Split(path, "/")
	switch parts[0] {
	case "internal":
		return parts[1]
	case "vrrp", "arp", "members":
		return "wire"
	}
	return parts[0]
}
