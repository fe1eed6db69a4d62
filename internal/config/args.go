package config

import (
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
		for _, l := range lists {
			for j := range l.size(&c.VIPs[i]) {
				t := l.at(&c.VIPs[i], j)
				for _, o := range l.options {
					if t.check == nil || t.check.Kind.has(o.name()) {
						add(o, o.inList(i, j), t)
					}
				}
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
