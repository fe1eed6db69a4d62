package trial

import (
	"fmt"
	"strings"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// Keepalived runs Debian's keepalived with VRRPv3, for comparison.
type Keepalived struct{}

// advertised is how many addresses keepalived names in its advertisements here;
// it binds the others as well.
const advertised = 20

// Name implements [Product].
func (Keepalived) Name() string { return "keepalived" }

// Start implements [Product].
func (Keepalived) Start(n *lab.Node, s Settings) (_ *lab.Process, err error) {
	defer try.Catch(&err)
	if s.VRID == 0 {
		s.VRID = 51
	}
	check := ""
	if s.API {
		// The script of kubeadm's high-availability guide, with its values.
		script := try.Get(n.WriteFile("check_apiserver.sh", "#!/bin/sh\ncurl -sfk --max-time 2 https://localhost:6443/healthz -o /dev/null\n", 0o755))
		check = fmt.Sprintf("vrrp_script check_apiserver {\n script %q\n interval 3\n weight -2\n fall 10\n rise 2\n}\n", script)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "global_defs {\n router_id %s\n vrrp_version 3\n script_user root\n enable_script_security\n}\n%s", n.Label, check)
	fmt.Fprintf(&b, "vrrp_instance VI {\n state BACKUP\n interface %s\n virtual_router_id %d\n priority %d\n advert_int %g\n virtual_ipaddress {\n", n.NICs[0].Name, s.VRID, s.Priority, s.Interval.Seconds())
	for i, a := range s.Addresses {
		if i == advertised {
			b.WriteString(" }\n virtual_ipaddress_excluded {\n")
		}
		if a.Is4() == s.Addresses[0].Is4() {
			fmt.Fprintf(&b, "  %s\n", prefix(a))
		}
	}
	b.WriteString(" }\n")
	if s.API {
		b.WriteString(" track_script {\n  check_apiserver\n }\n")
	}
	b.WriteString("}\n")
	conf := try.Get(n.WriteFile("keepalived.conf", b.String(), 0o644))
	return startKeepalived(n, conf, n.Label, lab.Command{Name: "keepalived", Args: []string{"keepalived", "--no-syslog"}})
}
