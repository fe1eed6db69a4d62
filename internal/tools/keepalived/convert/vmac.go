package convert

import (
	"fmt"

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
	name := "auto"
	switch prefix := c.cfg.Global.VMACPrefix; {
	case c.i.VMACName != "":
		name = c.i.VMACName
	case prefix != "" && prefix != "vrrp":
		name = vmacName(c.i, prefix)
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

// ownVMAC tells whether an interface is the one that keepalived makes for the instance.
func ownVMAC(i *keepalived.Instance, name string) bool {
	return i.VMAC && (name == i.VMACName || i.VMACName == "" && name == vmacName(i, "vrrp"))
}
