package convert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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
	if c.i.VMACAddress != "" && !ownMAC(c.i) {
		c.refuse(at, fmt.Sprintf("use_vmac with the MAC %s: %s", c.i.VMACAddress, noVMAC), "leave the MAC out on all nodes, and reload keepalived; then convert")
	}
	name := c.vmacs[c.i]
	if usual := fmt.Sprintf("%s.%d", defaultPrefix, c.i.VRID); name == usual && !c.i.IPv6 {
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

// defaultPrefix is keepalived's.
const defaultPrefix = "vrrp"

// nameVMACs finds how keepalived calls the interfaces of instances with use_vmac: those without a name by the VRID, and where that is taken with the family
// or a number before it.
func (c *converter) nameVMACs() {
	c.vmacs = map[*keepalived.Instance]string{}
	taken := map[string]bool{}
	for _, i := range c.cfg.Instances {
		if i.VMAC && i.VMACName != "" {
			c.vmacs[i], taken[i.VMACName] = i.VMACName, true
		}
	}
	prefix := cmp.Or(c.cfg.Global.VMACPrefix, defaultPrefix)
	for _, i := range c.cfg.Instances {
		if !i.VMAC || i.VMACName != "" {
			continue
		}
		name := fmt.Sprintf("%s.%d", prefix, i.VRID)
		if taken[name] && i.IPv6 {
			name = fmt.Sprintf("%s6.%d", prefix, i.VRID)
		}
		for n := 1; taken[name]; n++ {
			name = fmt.Sprintf("%s%d.%d", prefix, n, i.VRID)
		}
		c.vmacs[i], taken[name] = name, true
	}
}

// ownMAC tells whether a MAC that is asked for is the virtual one of the instance. With five bytes the VRID is the last.
func ownMAC(i *keepalived.Instance) bool {
	family := 1
	if i.IPv6 {
		family = 2
	}
	usual := fmt.Sprintf("00:00:5e:00:%02x", family)
	given := strings.ToLower(i.VMACAddress)
	return given == usual || given == fmt.Sprintf("%s:%02x", usual, i.VRID)
}

// vmacPrefix says so where no name comes from the prefix.
func (c *converter) vmacPrefix() {
	const word = "vmac_prefix"
	named := func(i *keepalived.Instance) bool { return i.VMAC && i.VMACName == "" }
	if c.cfg.Global.Has(word) && !slices.ContainsFunc(c.cfg.Instances, named) {
		c.note(c.cfg.Global.Where(word), word+": it is for instances with use_vmac and no name, of which there are none")
	}
}
