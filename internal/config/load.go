package config

import (
	"fmt"
	"slices"
)

// Input is everything that a configuration is made of.
type Input struct {
	File  string              // path; "": $KEEPVIP_CONFIG, $KEEPVIP_CONFIG_YAML, or no file at all
	Conf  string              // path of a keepalived.conf in place of a file; "": $KEEPVIP_KEEPALIVED_CONF, or none
	Flags map[string][]string // by name without dashes, only those given; see [Flags]
	Env   []string            // as os.Environ returns it
	// Elsewhere tells that the files and interfaces named in the configuration lie on another machine and cannot be looked at: for manifests.
	Elsewhere bool
	// Convert makes a configuration of the keepalived.conf at a path. nil: there must be none.
	Convert func(path string) (Converted, error)
}

// Load reads, merges and validates. The error joins every problem found, each one line that names place, key and remedy;
// with an error there is no configuration. Load may be called again with the same input to reload.
func Load(in Input) (*Config, error) {
	var ps problems
	env, vars, warnings := fromEnvironment(in.Env)
	flags := fromFlags(in.Flags, &ps)
	from, err := in.read(vars)
	if err != nil {
		return nil, err
	}
	var doc document
	if from.Text != nil || from.Draft != nil {
		doc = parseFile(from, &ps)
	}
	c := &Config{
		Path: from.path, File: from.Text, Converted: from.conf, Warnings: append(warnings, from.Warnings...), origins: map[string]Origin{},
		Key: Key{held: from.Secrets},
	}
	c.merge(doc, append(env, flags...), &ps)
	if len(ps.list) > 0 {
		return nil, ps.err()
	}
	c.derive()
	if err := c.validate(); err != nil {
		return nil, err
	}
	if !in.Elsewhere {
		if err := (&validator{Config: c}).checkFiles(); err != nil {
			return nil, err
		}
		c.noteFiles()
	}
	return c, nil
}

// merge fills the configuration: defaults, then the file, then what overrides it, which is in rising order.
func (c *Config) merge(doc document, overrides []setting, ps *problems) {
	for i, origin := range doc.vips {
		c.origins[fmt.Sprintf("%s[%d]", vipsKey, i)] = origin
	}
	n := len(doc.vips)
	describesVIP := slices.IndexFunc(overrides, func(s setting) bool { return s.option.perVIP() })
	if n == 0 && describesVIP >= 0 {
		n = 1
	}
	if n > 1 && describesVIP >= 0 {
		o := overrides[describesVIP]
		ps.add(o.origin, "", "describes one virtual address, but %s has %d under vips; set %s there", c.Path, n, o.option.Key)
		return
	}
	c.VIPs = make([]VIP, n)
	c.makeLists(doc)
	c.defaults()
	for _, s := range append(doc.settings, overrides...) {
		key, t := s.option.Key, target{config: c}
		if s.option.perVIP() {
			key, t.vip = s.option.at(s.vip), &c.VIPs[s.vip]
		}
		if l := s.option.elementOf(); l != nil {
			key, t = s.option.inList(s.vip, s.index), l.at(t.vip, s.index)
		}
		if err := s.option.assign(t, s.raw); err != nil {
			ps.add(s.origin, key, "%v", err)
			continue
		}
		c.origins[key] = s.origin
	}
}

// makeLists makes room for what the file lists in each entry.
func (c *Config) makeLists(doc document) {
	for i := range doc.vips {
		for _, l := range lists {
			origins := doc.elements[i][l.key]
			for j, origin := range origins {
				c.origins[fmt.Sprintf("%s[%d].%s[%d]", vipsKey, i, l.key, j)] = origin
			}
			if len(origins) > 0 {
				l.grow(&c.VIPs[i], len(origins))
			}
		}
	}
}

func (c *Config) defaults() {
	for o := range everywhere() {
		if o.Default == "" {
			continue
		}
		targets := []target{{config: c}}
		if o.perVIP() {
			targets = nil
			for i := range c.VIPs {
				targets = append(targets, c.targets(o, &c.VIPs[i])...)
			}
		}
		for _, t := range targets {
			if err := o.assign(t, []string{o.Default}); err != nil {
				panic(fmt.Sprintf("config: default of %s: %v", o.Key, err)) // a mistake in the table; every test meets it
			}
		}
	}
}

// targets are the places of an option in one VIP.
func (c *Config) targets(o *Option, v *VIP) []target {
	l := o.elementOf()
	if l == nil {
		return []target{{config: c, vip: v}}
	}
	all := make([]target, l.size(v))
	for i := range all {
		all[i] = l.at(v, i)
	}
	return all
}
