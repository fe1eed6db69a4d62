package trial

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// Flavor is what the VRRP routers of a group agree on besides [Settings].
type Flavor struct {
	Version   int          // 2 or 3, 0 = 3
	Password  string       // VRRPv2 with authentication type 1, at most 8 octets
	Peers     []netip.Addr // unicast to these addresses, the own one among them; none = multicast
	NoPreempt bool
	VMAC      bool // the virtual MAC of RFC 9568
	XmitBase  bool // with VMAC advertisements have the interface's own MAC
}

// Router is one virtual router of a daemon that may run several.
type Router struct {
	Name string
	Settings
	Flavor
}

// Runner starts a daemon with the given virtual routers on a node.
type Runner func(n *lab.Node, routers ...Router) (*lab.Process, error)

// PerNode is a product that runs another daemon on each node: a mixed group.
type PerNode struct {
	Runners []Runner // by node
	Flavor  Flavor
}

func (PerNode) Name() string { return "mixed group" }

func (p PerNode) Start(n *lab.Node, s Settings) (*lab.Process, error) {
	return p.Runners[n.ID-1](n, Router{Name: "apiserver", Settings: s, Flavor: p.Flavor})
}

func (r Router) version() int {
	if r.Version == 0 {
		return 3
	}
	return r.Version
}

// others are the peers without the node itself, and its own address among
// them: what daemons with a list per node want.
func (r Router) others(n *lab.Node) (own netip.Addr, others []netip.Addr) {
	for _, p := range r.Peers {
		if p == n.Address || p == n.Addr6 {
			own = p
			continue
		}
		others = append(others, p)
	}
	return own, others
}

// DownInterval is the Active_Down_Interval of the router: RFC 9568 section 6.1,
// and for version 2 with its skew of up to a second RFC 3768 section 6.1.
func (r Router) DownInterval() time.Duration { return 3*r.Interval + r.SkewTime() }

// SkewTime is the Skew_Time of the router.
func (r Router) SkewTime() time.Duration {
	base := r.Interval
	if r.version() == 2 {
		base = time.Second
	}
	return base * time.Duration(256-r.Priority) / 256
}

// RunKeepvip runs the built keepvip from one file; nothing follows a service.
func RunKeepvip(n *lab.Node, routers ...Router) (_ *lab.Process, err error) {
	defer try.Catch(&err)
	var b strings.Builder
	b.WriteString("apiVersion: keepvip/v1\nkind: Config\nvips:\n")
	for _, r := range routers {
		fmt.Fprintf(&b, "- name: %s\n  addresses: [%s]\n  interface: %s\n  priority: %d\n  check: none\n", r.Name, quoted(r.Addresses), n.NICs[0].Name, r.Priority)
		fmt.Fprintf(&b, "  vrrp: {id: %d, version: %d, advertisementInterval: %v, preempt: %v, peers: [%s]", r.VRID, r.version(), r.Interval, !r.NoPreempt, quoted(r.Peers))
		if r.Password != "" {
			fmt.Fprintf(&b, ", passwordFile: %q", try.Get(n.WriteFile("password."+r.Name, r.Password+"\n", 0o600)))
		}
		if r.VMAC {
			fmt.Fprintf(&b, ", virtualMAC: auto, advertiseFromInterface: %v", r.XmitBase)
		}
		b.WriteString("}\n")
	}
	return Keepvip{}.Run(n, "--config", try.Get(n.WriteFile("keepvip.yaml", b.String(), 0o644)))
}

// quoted lists addresses for YAML, where a bare IPv6 address means something else.
func quoted(addrs []netip.Addr) string {
	var parts []string
	for _, a := range addrs {
		parts = append(parts, fmt.Sprintf("%q", a))
	}
	return strings.Join(parts, ", ")
}

// WriteKeepalivedConf writes a node's keepalived.conf, and returns its path.
func WriteKeepalivedConf(n *lab.Node, routers ...Router) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "global_defs {\n router_id %s\n}\n", n.Label)
	for _, r := range routers {
		b.WriteString(r.keepalived(n))
	}
	return n.WriteFile("keepalived.conf", b.String(), 0o644)
}

// Debian's keepalived, and the built keepvip from the same keepalived.conf.
var (
	RunKeepalived     = withConf(WriteKeepalivedConf, RunKeepalivedFile)
	RunKeepalivedConf = withConf(WriteKeepalivedConf, KeepvipWith)
)

// withConf runs a program with a keepalived.conf that is written before.
func withConf(write func(n *lab.Node, routers ...Router) (string, error), run func(n *lab.Node, conf string) (*lab.Process, error)) Runner {
	return func(n *lab.Node, routers ...Router) (_ *lab.Process, err error) {
		defer try.Catch(&err)
		return run(n, try.Get(write(n, routers...)))
	}
}

// KeepvipWith runs the built keepvip with a keepalived.conf as it is.
func KeepvipWith(n *lab.Node, conf string) (*lab.Process, error) {
	return Keepvip{}.Run(n, "--keepalived-conf", conf)
}

// RunKeepalivedFile runs Debian's keepalived with a file.
func RunKeepalivedFile(n *lab.Node, conf string) (*lab.Process, error) {
	return startKeepalived(n, conf, n.Label, lab.Command{Name: "keepalived", Args: []string{"keepalived"}})
}

// RunUnderKeepalivedsName runs the built keepvip under keepalived's name, with the command line of RunKeepalived.
func RunUnderKeepalivedsName(n *lab.Node, routers ...Router) (_ *lab.Process, err error) {
	defer try.Catch(&err)
	conf := try.Get(WriteKeepalivedConf(n, routers...))
	path := try.Get(Binary())
	name := n.Path("keepalived")
	try.Get(n.Run("ln", "-sf", path, name))
	return startKeepalived(n, conf, n.Label, lab.Command{
		Name: "keepvip", Args: []string{name},
		Env: []string{"KEEPVIP_SOCKET=" + Socket(n), "KEEPVIP_STATE_DIR=" + n.Path("state"), "KEEPVIP_METRICS=off"},
	})
}

// KeepalivedPID is the file of the process id of the node's keepalived.
func KeepalivedPID(n *lab.Node) string { return n.Path("keepalived.pid") }

// startKeepalived starts c with keepalived's command line; lines with @id are read.
func startKeepalived(n *lab.Node, conf, id string, c lab.Command) (_ *lab.Process, err error) {
	defer try.Catch(&err)
	pids := []string{"--pid", KeepalivedPID(n), "--vrrp_pid", n.Path("vrrp.pid"), "--checkers_pid", n.Path("checkers.pid")}
	// A node that was powered off has left its pid files.
	try.Get(n.Run("rm", "-f", pids[1], pids[3], pids[5]))
	c.Args = append(append(c.Args, "--dont-fork", "--log-console", "--vrrp", "--use-file", conf), pids...)
	c.Args = append(c.Args, "--config-id", id)
	return n.StartCommand(c)
}

// keepalived writes the router as keepalived's manual page says; "state
// BACKUP" is what nopreempt needs and changes nothing otherwise.
func (r Router) keepalived(n *lab.Node) string {
	var b strings.Builder
	fmt.Fprintf(&b, "vrrp_instance %s {\n state BACKUP\n interface %s\n virtual_router_id %d\n priority %d\n version %d\n advert_int %g\n", r.Name, n.NICs[0].Name, r.VRID, r.Priority, r.version(), r.Interval.Seconds())
	if r.NoPreempt {
		b.WriteString(" nopreempt\n")
	}
	if r.VMAC {
		b.WriteString(" use_vmac\n")
	}
	if r.XmitBase {
		b.WriteString(" vmac_xmit_base\n")
	}
	if r.Password != "" {
		fmt.Fprintf(&b, " authentication {\n  auth_type PASS\n  auth_pass %s\n }\n", r.Password)
	}
	if own, others := r.others(n); own.IsValid() {
		// Without unicast_ttl, IPv6 leaves with the host's hop limit of 64.
		fmt.Fprintf(&b, " unicast_ttl 255\n unicast_src_ip %s\n unicast_peer {\n%s }\n", own, lines("  ", others))
	}
	fmt.Fprintf(&b, " virtual_ipaddress {\n%s }\n}\n", lines("  ", r.Addresses))
	return b.String()
}

func lines(indent string, addrs []netip.Addr) string {
	var b strings.Builder
	for _, a := range addrs {
		fmt.Fprintf(&b, "%s%s\n", indent, prefix(a))
	}
	return b.String()
}

// NodeAddresses are the nodes' own addresses in the family of like, for
// [Flavor.Peers].
func NodeAddresses(l *lab.Lab, like netip.Addr) []netip.Addr {
	var addrs []netip.Addr
	for _, n := range l.Nodes {
		addrs = append(addrs, OwnAddress(n, like))
	}
	return slices.Clip(addrs)
}

// OwnAddress is the node's own address in the family of like.
func OwnAddress(n *lab.Node, like netip.Addr) netip.Addr {
	if like.Is6() {
		return n.Addr6
	}
	return n.Address
}

// Keepalived runs Debian's keepalived with VRRPv3, for comparison.
type Keepalived struct{}

// advertised is how many addresses keepalived names in its advertisements here;
// it binds the others as well.
const advertised = 20

func (Keepalived) Name() string { return "keepalived" }

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
