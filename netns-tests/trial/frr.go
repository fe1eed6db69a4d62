package trial

import (
	"fmt"
	"strings"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// FRRDir is where Debian keeps FRR's daemons.
const FRRDir = "/usr/lib/frr"

// RunFRR runs FRR's zebra and vrrpd. Each router gets the macvlan interface with
// the virtual MAC address that vrrpd wants. FRR knows neither passwords nor
// unicast. The returned process is vrrpd.
func RunFRR(n *lab.Node, routers ...Router) (_ *lab.Process, err error) {
	defer try.Catch(&err)
	nic := n.NICs[0].Name
	var conf strings.Builder
	fmt.Fprintf(&conf, "hostname %s\nlog stdout\ninterface %s\n", n.Label, nic)
	for _, r := range routers {
		try.Do(r.macvlan(n))
		conf.WriteString(r.frr())
	}
	return startFRR(n, "vrrpd", conf.String())
}

// startFRR runs FRR's zebra and another of its daemons, which is returned.
func startFRR(n *lab.Node, name, conf string) (_ *lab.Process, err error) {
	defer try.Catch(&err)
	path := try.Get(n.WriteFile("frr.conf", conf, 0o644))
	// Both give up root for this user, whose group alone may own their sockets.
	dir := n.Path("frr")
	try.Get(n.Run("install", "-d", "-o", "frr", "-g", "frr", dir))
	socket := dir + "/zserv.api"
	try.Get(n.Run("rm", "-f", socket, dir+"/zebra.pid", dir+"/"+name+".pid"))
	daemon := func(name string) []string {
		return []string{FRRDir + "/" + name, "-f", path, "-i", dir + "/" + name + ".pid", "-z", socket, "-u", "frr", "-g", "frr", "-A", "127.0.0.1", "-P", "0", "--vty_socket", dir}
	}
	try.Get(n.Start("zebra", daemon("zebra")...))
	// It tries again when zebra is not there yet, but only after seconds.
	wait := fmt.Sprintf(`i=0; while [ ! -S %q ] && [ $i -lt 500 ]; do sleep 0.01; i=$((i+1)); done; exec "$@"`, socket)
	return n.Start(name, append([]string{"sh", "-c", wait, "sh"}, daemon(name)...)...)
}

// frr writes the router as FRR's manual says; intervals are milliseconds.
func (r Router) frr() string {
	var b strings.Builder
	fmt.Fprintf(&b, " vrrp %d version %d\n vrrp %d priority %d\n vrrp %d advertisement-interval %d\n", r.VRID, r.version(), r.VRID, r.Priority, r.VRID, r.Interval.Milliseconds())
	if r.NoPreempt {
		fmt.Fprintf(&b, " no vrrp %d preempt\n", r.VRID)
	}
	for _, a := range r.Addresses {
		family := "ip"
		if a.Is6() {
			family = "ipv6"
		}
		fmt.Fprintf(&b, " vrrp %d %s %s\n", r.VRID, family, a)
	}
	return b.String()
}

// macvlan makes the interface of the virtual MAC (RFC 9568 section 7.3) anew.
func (r Router) macvlan(n *lab.Node) error {
	name, family := fmt.Sprintf("vrrp%d", r.VRID), 1
	if r.Addresses[0].Is6() {
		family = 2
	}
	_, _ = n.Run("ip", "link", "del", name)
	script := []string{
		fmt.Sprintf("link add %s link %s type macvlan mode bridge", name, n.NICs[0].Name),
		fmt.Sprintf("link set %s addrgenmode random", name),
		fmt.Sprintf("link set %s address 00:00:5e:00:%02x:%02x", name, family, r.VRID),
	}
	for _, a := range r.Addresses {
		script = append(script, fmt.Sprintf("addr add %s dev %s nodad", prefix(a), name))
	}
	script = append(script, fmt.Sprintf("link set %s up", name))
	return try.Err(n.RunInput(strings.Join(script, "\n"), "ip", "-batch", "-"))
}
