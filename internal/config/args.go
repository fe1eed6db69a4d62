package config

import (
	"slices"
	"strings"
)

// Args is what flags and environment added to the file, as flags: with them and the same file another process gets the
// same configuration. The order is that of the reference.
func (c *Config) Args() []string {
	var args []string
	for _, o := range table {
		key, t := o.Key, target{config: c}
		if o.perVIP() {
			if len(c.VIPs) != 1 { // with several, only the file describes them
				continue
			}
			key, t.vip = o.at(0), &c.VIPs[0]
		}
		switch c.Origin(key).Source {
		case environment, flag:
			for _, v := range o.format(t) {
				args = append(args, "--"+o.Flag+"="+v)
			}
		}
	}
	return args
}

// Value is one configured value with its origin, for `config show`.
type Value struct {
	Key    string // concrete: "vips[0].vrrp.id"
	Text   string // list entries separated by ", "
	Origin Origin
}

// Values lists every value in force.
func (c *Config) Values() []Value {
	var values []Value
	add := func(o Option, key string, t target) {
		values = append(values, Value{Key: key, Text: strings.Join(o.format(t), ", "), Origin: c.Origin(key)})
	}
	for i := range c.VIPs {
		for _, o := range table {
			if o.perVIP() {
				add(o, o.at(i), target{config: c, vip: &c.VIPs[i]})
			}
		}
		for j := range c.VIPs[i].Checks {
			h := &c.VIPs[i].Checks[j]
			for _, o := range listed {
				if key := o.name(); slices.Contains(commonKeys, key) || slices.Contains(kindKeys[h.Kind].keys, key) {
					add(o, o.inList(i, j), target{check: h})
				}
			}
		}
		for j := range c.VIPs[i].Hooks {
			for _, o := range hooked {
				add(o, o.inList(i, j), target{hook: &c.VIPs[i].Hooks[j]})
			}
		}
		for j := range c.VIPs[i].Spread.Ports {
			for _, o := range ported {
				add(o, o.inList(i, j), target{port: &c.VIPs[i].Spread.Ports[j]})
			}
		}
		for j := range c.VIPs[i].Spread.Backends {
			for _, o := range backed {
				add(o, o.inList(i, j), target{backend: &c.VIPs[i].Spread.Backends[j]})
			}
		}
	}
	for _, o := range table {
		if !o.perVIP() {
			add(o, o.Key, target{config: c})
		}
	}
	return values
}
