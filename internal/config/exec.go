package config

import "fmt"

// ExecCheck is a check that runs a program as another user.
type ExecCheck struct {
	Key  string // where it is in the file: "vips[0].checks[1] (disk)"
	User string
}

// ExecChecks lists those of the configuration, in its order.
func (c *Config) ExecChecks() []ExecCheck {
	var out []ExecCheck
	for i, v := range c.VIPs {
		for j, h := range v.Checks {
			if h.Kind == CheckExec {
				out = append(out, ExecCheck{Key: fmt.Sprintf("vips[%d].checks[%d] (%s)", i, j, h.Name), User: h.User})
			}
		}
	}
	return out
}
