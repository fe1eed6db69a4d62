package config

import (
	"fmt"
	"strings"
)

// Program is a check of kind exec, or a hook: a program that is run as a user of its own.
type Program struct {
	Key  string // where it is in the file: "vips[0].checks[1] (disk)"
	User string
	kind string
}

// String is what an error calls it.
func (p Program) String() string { return p.Key + ": " + p.kind + " as user " + p.User }

// AsRoot tells that no other user has to be changed to, where keepvip is root.
func (p Program) AsRoot() bool {
	user, group, _ := strings.Cut(p.User, ":")
	return (user == "root" || user == "0") && (group == "" || group == "root" || group == "0")
}

// Programs lists those of the configuration, in its order.
func (c *Config) Programs() []Program {
	var out []Program
	for i, v := range c.VIPs {
		for j, h := range v.Checks {
			if h.Kind == CheckExec {
				out = append(out, Program{Key: fmt.Sprintf("vips[%d].checks[%d] (%s)", i, j, h.Name), User: h.User, kind: "kind exec"})
			}
		}
		for j, h := range v.Hooks {
			out = append(out, Program{Key: fmt.Sprintf("vips[%d].hooks[%d]", i, j), User: h.User, kind: "a hook"})
		}
	}
	return out
}
