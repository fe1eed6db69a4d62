package convert

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/keepvip/keepvip/internal/tools/keepalived"
)

// virtualMAC writes that the addresses have the virtual MAC, on an interface that is called as keepalived calls it.
func (c candidacy) virtualMAC() {
	if !c.i.VMAC {
		if c.i.TransmitBase {
			c.note(c.i.Where("vmac_xmit_base"), "vmac_xmit_base: without use_vmac it means nothing, in keepalived too")
		}
		return
	}
	at := c.i.Where("use_vmac")
	if c.i.VMACAddress != "" {
		c.refuse(at, fmt.Sprintf("use_vmac with the MAC %s: %s", c.i.VMACAddress, noVMAC), "leave the MAC out on all nodes, and reload keepalived; then convert")
	}
	name := c.vmacOf(c.i)
	if name == vmacName(c.i, defaultPrefix) {
		name = "auto"
	}
	c.out.set("vips[].vrrp.virtualMAC", name, placed(at))
	switch {
	case c.i.TransmitBase:
		c.out.set("vips[].vrrp.advertiseFromInterface", true, placed(c.i.Where("vmac_xmit_base")))
	case !c.i.Multicast():
		c.out.set("vips[].vrrp.advertiseFromInterface", true, source{c.i.Where("unicast_peer"), "unicast leaves with the interface's own MAC"})
	}
}

// vmacName is how keepalived calls the interface of an instance without a name for it.
func vmacName(i *keepalived.Instance, prefix string) string {
	if i.IPv6 {
		prefix += "6"
	}
	return fmt.Sprintf("%s.%d", prefix, i.VRID)
}

// defaultPrefix is keepalived's.
const defaultPrefix = "vrrp"

// vmacOf is the interface that keepalived makes for an instance; empty: none.
func (c *converter) vmacOf(i *keepalived.Instance) string {
	if !i.VMAC {
		return ""
	}
	return cmp.Or(i.VMACName, vmacName(i, cmp.Or(c.cfg.Global.VMACPrefix, defaultPrefix)))
}

// vmacPrefix says so where no name comes from the prefix.
func (c *converter) vmacPrefix() {
	const word = "vmac_prefix"
	named := func(i *keepalived.Instance) bool { return i.VMAC && i.VMACName == "" }
	if c.cfg.Global.Has(word) && !slices.ContainsFunc(c.cfg.Instances, named) {
		c.note(c.cfg.Global.Where(word), word+": it is for instances with use_vmac and no name, of which there are none")
	}
}
