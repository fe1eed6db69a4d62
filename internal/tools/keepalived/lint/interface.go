package lint

import (
	"fmt"
	"strings"

	"github.com/keepvip/keepvip/internal/tools/keepalived"
	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// interfaceNames: names that no interface has on which VRRP can run.
func interfaceNames(c *keepalived.Config, say say) {
	look := func(at syntax.Origin, name, instance string) {
		device, _, alias := strings.Cut(name, ":")
		short := strings.TrimRight(name, ";,")
		switch {
		case short != name:
			say(keepalived.Fault, "interface-name", at, fmt.Sprintf("an interface of %s is %q to keepalived, with the %s: there is none of that name", instance, name, name[len(short):]), "write "+short)
		case alias:
			say(keepalived.Fault, "interface-name", at, fmt.Sprintf("%s is the label of an address and no interface: %s has no such interface", name, instance),
				fmt.Sprintf("write interface %s, and label %s behind the address in virtual_ipaddress", device, name))
		}
	}
	for _, i := range c.Instances {
		look(i.Where("interface"), i.Interface, i.Name)
		for _, t := range i.Track.Interfaces {
			look(t.At, t.Name, i.Name)
		}
	}
}
