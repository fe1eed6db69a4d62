package config

import (
	"iter"
	"strings"
)

// Flags collects the options given on a command line. Bind each value with pflag's VarPF or flag's Var, then pass
// [Flags.Given] to [Load].
type Flags struct{ values []*flagValue }

// NewFlags makes one value for every option.
func NewFlags() *Flags {
	f := &Flags{}
	for _, o := range table {
		f.values = append(f.values, &flagValue{option: o})
	}
	return f
}

// All yields every option with its value, in the reference's order.
func (f *Flags) All() iter.Seq2[Option, *flagValue] {
	return func(yield func(Option, *flagValue) bool) {
		for _, v := range f.values {
			if !yield(v.option, v) {
				return
			}
		}
	}
}

// Given is [Input.Flags]: what was set, by the flag's name.
func (f *Flags) Given() map[string][]string {
	given := map[string][]string{}
	for _, v := range f.values {
		if len(v.given) > 0 {
			given[v.option.Flag] = v.given
		}
	}
	return given
}

// flagValue is one flag: a pflag.Value and flag.Value that only remembers, because [Load] judges all sources alike.
type flagValue struct {
	option Option
	given  []string
}

// String is what was given, or the default.
func (v *flagValue) String() string {
	if len(v.given) == 0 {
		return v.option.Default
	}
	return strings.Join(v.given, ",")
}

// Set takes one occurrence; of an option that is no list, the last counts.
func (v *flagValue) Set(s string) error {
	if !v.option.list {
		v.given = nil
	}
	v.given = append(v.given, s)
	return nil
}

// Type names the value in a usage text.
func (v *flagValue) Type() string { return v.option.Kind() }

// IsBoolFlag tells package flag that the value may be left out; with pflag set NoOptDefVal to "true".
func (v *flagValue) IsBoolFlag() bool { return v.option.IsBool() }
