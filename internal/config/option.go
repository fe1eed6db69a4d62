package config

import (
	"fmt"
	"slices"
	"strings"
)

// reload says what a changed value asks of a running daemon.
type reload uint8

// From the least to the most disturbing.
const (
	live     reload = iota // taken over without anybody noticing
	recreate               // the VIP's elector is stopped and made anew
	member                 // as restart in a process that is a member of a Raft cluster, as live in others
	restart                // only a new process uses it
)

// String is the word that the reference shows.
func (r reload) String() string {
	return [...]string{"live", "re-created", "member", "restart"}[r]
}

// Option is one row of the table: a value that can be configured, under all its names.
type Option struct {
	Key     string // in the file: "vips[].vrrp.id"
	Flag    string // without dashes: "vrid"
	Default string // as it would be written; "" when there is none
	Help    string // one sentence without its full stop
	Reload  reload
	binding

	shorthand bool // a scalar in place of the mapping around this key stands for it: `check: none`
	set       bool // a list whose order means nothing
}

// option is one that has a flag.
func option(key, flag, byDefault string, r reload, b binding, help string) Option {
	return Option{Key: key, Flag: flag, Default: byDefault, Help: help, Reload: r, binding: b}
}

// unflagged is one of an entry in a list, which a flag could not name.
func unflagged(key, byDefault string, b binding, help string) Option {
	return option(key, "", byDefault, live, b, help)
}

// short is the option that a scalar in place of its mapping stands for.
func (o Option) short() Option {
	o.shorthand = true
	return o
}

// unordered is the option with a list whose order means nothing.
func (o Option) unordered() Option {
	o.set = true
	return o
}

// Env is the option's environment variable. A list is separated by commas.
func (o Option) Env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(o.Flag, "-", "_"))
}

// Kind names the type of value for people: "duration", "vrrp|raft".
func (o Option) Kind() string { return o.kind }

// IsBool tells that a flag may stand without a value.
func (o Option) IsBool() bool { return slices.Contains(o.tags, tagBool) }

// perVIP tells that the option describes one virtual address rather than the process.
func (o Option) perVIP() bool { return strings.HasPrefix(o.Key, vipsKey+"[].") }

// at is the option's key for one VIP: "vips[1].vrrp.id".
func (o Option) at(vip int) string {
	return strings.Replace(o.Key, "[]", fmt.Sprintf("[%d]", vip), 1)
}

// inList is the option's key for one element of a list: "vips[1].checks[0].url".
func (o Option) inList(vip, index int) string {
	return strings.Replace(o.at(vip), "[]", fmt.Sprintf("[%d]", index), 1)
}

// name is the last part of the key.
func (o Option) name() string { return o.Key[strings.LastIndexByte(o.Key, '.')+1:] }

// Options lists every option that has a flag, in the order of the reference. The slice is the caller's.
func Options() []Option { return slices.Clone(table) }

// target is what an option is written into: the configuration, or one VIP of it.
type target struct {
	config *Config
	vip    *VIP
	check  *ListedCheck
	hook   *Hook
	port   *SpreadPort

	backend *Backend
}

// binding connects an option's text with its place in the typed configuration.
type binding struct {
	kind   string
	span   string
	tags   []string
	list   bool
	schema map[string]any
	assign func(target, []string) error
	format func(target) []string
	copy   func(to, from target)
}

// one binds a single value.
func one[T any](k kind[T], at func(target) *T) binding {
	return binding{
		kind: k.name, span: k.span, tags: k.tags, schema: k.schema,
		assign: func(t target, raw []string) error {
			if len(raw) != 1 {
				return fmt.Errorf("%d values, want one", len(raw))
			}
			v, err := k.parse(raw[0])
			if err != nil {
				return err
			}
			*at(t) = v
			return nil
		},
		format: func(t target) []string { return []string{k.format(*at(t))} },
		copy:   func(to, from target) { *at(to) = *at(from) },
	}
}

// many binds a list of distinct values.
func many[T comparable](k kind[T], at func(target) *[]T) binding {
	return binding{
		kind: k.name, span: k.span, tags: k.tags, list: true,
		schema: map[string]any{"type": "array", "items": k.schema, "uniqueItems": true},
		assign: func(t target, raw []string) error {
			values := make([]T, 0, len(raw))
			for _, s := range raw {
				v, err := k.parse(s)
				if err != nil {
					return err
				}
				if slices.Contains(values, v) {
					return fmt.Errorf("%s is given twice, want it once", show(s))
				}
				values = append(values, v)
			}
			*at(t) = values
			return nil
		},
		format: func(t target) []string {
			var text []string
			for _, v := range *at(t) {
				text = append(text, k.format(v))
			}
			return text
		},
		copy: func(to, from target) { *at(to) = slices.Clone(*at(from)) },
	}
}
