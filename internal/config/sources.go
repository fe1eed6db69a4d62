package config

import (
	"slices"
	"strings"
)

// The variables that are no options: they say where the file is.
const (
	EnvFile   = "KEEPVIP_CONFIG"          // path of the file, as --config
	EnvConf   = "KEEPVIP_KEEPALIVED_CONF" // path of a keepalived.conf in its place, as --keepalived-conf
	EnvInline = "KEEPVIP_CONFIG_YAML"     // the file itself: what `manifest pod` puts into a pod
)

// fromEnvironment takes the KEEPVIP_ variables that are not empty. Unknown ones are returned as warnings, not errors: others may use the prefix.
func fromEnvironment(environ []string) (settings []setting, vars map[string]string, warnings []string) {
	vars = map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, envPrefix) || value == "" {
			continue
		}
		if slices.Contains([]string{EnvFile, EnvConf, EnvInline}, name) {
			vars[name] = value
			continue
		}
		i := slices.IndexFunc(table, func(o Option) bool { return o.Env() == name })
		if i < 0 {
			warnings = append(warnings, "environment variable "+show(name)+" is not an option of keepvip and is ignored")
			continue
		}
		o := &table[i]
		settings = append(settings, setting{option: o, raw: o.split(value), origin: Origin{Source: environment, Name: name}})
	}
	return settings, vars, warnings
}

// fromFlags takes the flags that were given, in the table's order.
func fromFlags(flags map[string][]string, ps *problems) []setting {
	var settings []setting
	for i := range table {
		o := &table[i]
		if raw, given := flags[o.Flag]; given {
			var values []string
			for _, s := range raw {
				values = append(values, o.split(s)...)
			}
			settings = append(settings, setting{option: o, raw: values, origin: Origin{Source: flag, Name: "--" + o.Flag}})
		}
	}
	for name := range flags {
		if !slices.ContainsFunc(table, func(o Option) bool { return o.Flag == name }) {
			ps.add(Origin{Source: flag, Name: "--" + name}, "", "unknown flag, want one of the reference")
		}
	}
	return settings
}

// split is a list's values in one flag or variable, separated by commas.
func (o *Option) split(s string) []string {
	if !o.list {
		return []string{s}
	}
	var values []string
	for v := range strings.SplitSeq(s, ",") {
		values = append(values, strings.TrimSpace(v))
	}
	return values
}
