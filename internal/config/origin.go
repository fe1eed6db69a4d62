package config

import "strconv"

// Source is a kind of place that a value can come from.
type Source uint8

// The sources; a later one wins over an earlier.
const (
	Default Source = iota
	File
	environment
	flag
)

// Origin is where one value came from.
type Origin struct {
	Source Source
	Name   string // the file's path, the variable or the flag with its dashes; "" for a default
	Line   int    // in the file, from 1
}

// String is the origin as errors and `config show` print it: "/etc/keepvip/keepvip.yaml:7", "--vrid", "KEEPVIP_VRID", "default".
func (o Origin) String() string {
	switch {
	case o.Source == Default:
		return "default"
	case o.Line > 0:
		return o.Name + ":" + strconv.Itoa(o.Line)
	}
	return o.Name
}

// Origin tells where the value at a key came from. The key is concrete: "vips[0].vrrp.id", "socket".
func (c *Config) Origin(key string) Origin { return c.origins[key] }
