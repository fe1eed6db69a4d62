package doctor

import (
	"slices"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
)

// judgeVirtualMAC looks whether the interface of the virtual MAC of v can be made on l, and would answer.
func judgeVirtualMAC(out *findings, f Facts, v config.VIP, l link.Link) {
	name := v.VirtualMACInterface()
	if name == "" {
		return
	}
	want := link.VirtualMAC{Name: name, On: l.Index, MAC: link.RouterMAC(first(v).Is4(), v.VRRP.ID)}
	err := want.Carried(l)
	if i := slices.IndexFunc(f.Links, func(o link.Link) bool { return o.Name == name }); err == nil && i >= 0 {
		err = want.Refuse(f.Links[i])
	}
	if err != nil {
		out.add(Finding{Code: code.VirtualMACInterface, Severity: Error, VIP: v.Name, What: err.Error()})
	}
	if n, _ := f.sysctl("ipv4", "arp_filter", "all"); n != 0 && slices.ContainsFunc(addressesOf(v), isIPv4) {
		out.say(v.Name, code.ARPFilter, Error, "arp_filter is on for all interfaces: %s, by which no route leaves, answers nobody", name)
	}
}
