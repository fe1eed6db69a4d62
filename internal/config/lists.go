package config

import (
	"reflect"
	"strings"
)

// list is one of the lists that an entry of vips has in the file.
type list struct {
	key     string // below the entry: "spread.ports"
	prefix  string // of its options' keys: "vips[].spread.ports[]."
	wants   string // what an element cannot be without
	options []Option
	grow    func(v *VIP, n int)
	size    func(v *VIP) int
	at      func(v *VIP, index int) target
	differs func(before, after *VIP) bool
}

// lists are all of them, in the order of the reference.
var lists = []list{
	listOf(checksKey, "kind for each check", listed, func(v *VIP) *[]ListedCheck { return &v.Checks },
		func(c *ListedCheck) target { return target{check: c} }),
	listOf(hooksKey, "command for each hook", hooked, func(v *VIP) *[]Hook { return &v.Hooks },
		func(h *Hook) target { return target{hook: h} }),
	listOf(spreadPorts, "port for each port that is spread", ported, func(v *VIP) *[]SpreadPort { return &v.Spread.Ports },
		func(p *SpreadPort) target { return target{port: p} }),
	listOf(spreadBackends, "addresses for each server", backed, func(v *VIP) *[]Backend { return &v.Spread.Backends },
		func(b *Backend) target { return target{backend: b} }),
}

func listOf[T any](key, wants string, options []Option, in func(*VIP) *[]T, at func(*T) target) list {
	return list{
		key: key, prefix: vipsKey + "[]." + key + "[].", wants: wants, options: options,
		grow: func(v *VIP, n int) { *in(v) = make([]T, n) },
		size: func(v *VIP) int { return len(*in(v)) },
		at: func(v *VIP, index int) target {
			t := at(&(*in(v))[index])
			t.vip = v
			return t
		},
		differs: func(before, after *VIP) bool {
			a, b := *in(before), *in(after)
			return len(a)+len(b) > 0 && !reflect.DeepEqual(a, b)
		},
	}
}

// listNamed is the list with that last part of its key; nil: there is none.
func listNamed(name string) *list {
	return listWhere(func(l *list) bool { return l.key[strings.LastIndexByte(l.key, '.')+1:] == name })
}

// elementOf is the list whose elements the option describes; nil: none.
func (o Option) elementOf() *list {
	return listWhere(func(l *list) bool { return strings.HasPrefix(o.Key, l.prefix) })
}

func listWhere(is func(*list) bool) *list {
	for i := range lists {
		if is(&lists[i]) {
			return &lists[i]
		}
	}
	return nil
}
