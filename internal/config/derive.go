package config

import (
	"cmp"
	"hash/fnv"
	"net/netip"
)

// deriveVRID is the VRID of a virtual address that names none: 1 + (32-bit FNV-1a of the address's 4 or 16 bytes mod 255).
// Every node computes the same from the same file, and two addresses on a link rarely get the same.
func deriveVRID(a netip.Addr) uint8 {
	h := fnv.New32a()
	h.Write(a.AsSlice()) // a hash never returns an error
	return uint8(1 + h.Sum32()%255)
}

// derive fills what depends on other values.
func (c *Config) derive() {
	for i := range c.VIPs {
		v := &c.VIPs[i]
		v.deriveExternal()
		c.deriveCheck(i)
		c.deriveLocal(i)
		if v.VRRP.ID == 0 && len(v.Addresses) > 0 {
			v.VRRP.ID = deriveVRID(v.First())
		}
		for j := range v.Checks {
			h := &v.Checks[j]
			h.Name = cmp.Or(h.Name, string(h.Kind))
		}
	}
}
