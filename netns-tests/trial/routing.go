package trial

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// The autonomous systems of the nodes and of the lab's router.
const (
	nodesAS  = 65001
	routerAS = 65000
)

// birdHead is what every BIRD needs.
const birdHead = "router id %s;\nprotocol device { scan time 1; }\n"

// bfd has BIRD look whether its neighbours live (RFC 5880): a neighbour that is silent for 150 ms is dead.
const bfd = "protocol bfd { interface \"*\" { interval 50 ms; multiplier 3; }; }\n"

// RunRouter has the lab's router listen to the nodes by BGP, with BIRD, and spread what it routes evenly over those that announce it.
// It takes BFD from nodes that begin it. stop ends it.
func RunRouter(l *lab.Lab) (stop func(), err error) {
	conf := fmt.Sprintf(birdHead, l.Router.Address) + bfd
	for _, v := range []string{"4", "6"} {
		conf += fmt.Sprintf("protocol kernel k%s { merge paths on; ipv%s { export all; }; }\n", v, v)
	}
	for _, n := range l.Nodes {
		conf += fmt.Sprintf("protocol bgp n%d { local %s as %d; neighbor %s as %d; passive; bfd on; error wait time 1, 2; ipv4 { import all; export none; }; ipv6 { import all; export none; }; }\n",
			n.ID, l.Router.Address, routerAS, n.Address, nodesAS)
	}
	pid := l.Dir + "/router.pid"
	if _, err := l.Router.RunInput(conf, "bird", "-c", "/dev/stdin", "-s", l.Dir+"/router.ctl", "-P", pid); err != nil {
		return nil, err
	}
	return func() { _, _ = l.Router.Run("pkill", "-F", pid) }, nil
}

// RunBIRD runs BIRD on a node as docs/routes.md has it: it tells the lab's router of the routes in table 198.
func RunBIRD(n *lab.Node, router *lab.Peer) (*lab.Process, error) { return runBIRD(n, router, "", "") }

// RunBIRDWithBFD is RunBIRD where node and router look whether the other one lives.
func RunBIRDWithBFD(n *lab.Node, router *lab.Peer) (*lab.Process, error) {
	return runBIRD(n, router, "  bfd on;\n", bfd)
}

// runBIRD runs BIRD with more in its BGP protocol, and outside of it.
func runBIRD(n *lab.Node, router *lab.Peer, within, beside string) (_ *lab.Process, err error) {
	defer try.Catch(&err)
	conf := fmt.Sprintf(birdHead, n.Address)
	for _, v := range []string{"4", "6"} {
		conf += fmt.Sprintf("protocol kernel keepvip%s { kernel table 198; learn; ipv%s { import where krt_source = 248; export none; }; }\n", v, v)
	}
	conf += fmt.Sprintf("protocol bgp uplink { local %s as %d; neighbor %s as %d; connect delay time 1; connect retry time 1; error wait time 1, 2;\n%s"+
		"  ipv4 { import none; export where krt_source = 248; next hop self; };\n  ipv6 { import none; export where krt_source = 248; next hop self; };\n}\n%s",
		n.Address, nodesAS, router.Address, routerAS, within, beside)
	return n.Start("bird", "bird", "-f", "-c", try.Get(n.WriteFile("bird.conf", conf, 0o644)), "-s", n.Path("bird.ctl"))
}

// RunFRRBGP runs FRR on a node as docs/routes.md has it: it tells the lab's router of the routes in the main table that hang on keepvip's device.
func RunFRRBGP(n *lab.Node, router *lab.Peer) (*lab.Process, error) {
	family := func(v string) string {
		return fmt.Sprintf(" address-family ipv%s unicast\n  neighbor %s activate\n  redistribute kernel route-map KEEPVIP\n exit-address-family\n", v, router.Address)
	}
	return startFRR(n, "bgpd", fmt.Sprintf("log stdout\nroute-map KEEPVIP permit 10\n match interface keepvip0\n set origin igp\n set metric 0\n set ipv6 next-hop global %s\n!\nrouter bgp %d\n bgp router-id %s\n no bgp ebgp-requires-policy\n"+
		" neighbor %s remote-as %d\n neighbor %s timers connect 1\n neighbor %s advertisement-interval 0\n%s%s!\n",
		n.Addr6, nodesAS, n.Address, router.Address, routerAS, router.Address, router.Address, family("4"), family("6")))
}

// RunBIRDOfKubeVIP runs BIRD on a node in the way that kube-vip's documentation has it for its routing table: the table goes into one of BIRD's own, whose
// routes are chosen by their prefix, given a community, and handed on by a pipe. What leaves is chosen by where it came from.
func RunBIRDOfKubeVIP(n *lab.Node, router *lab.Peer) (_ *lab.Process, err error) {
	defer try.Catch(&err)
	conf := fmt.Sprintf(birdHead, n.Address)
	bgp := fmt.Sprintf("protocol bgp uplink { local %s as %d; neighbor %s as %d; connect delay time 1; connect retry time 1; error wait time 1, 2;\n",
		n.Address, nodesAS, router.Address, routerAS)
	for v, nets := range map[string]string{"4": "10.99.0.0/24{32,32}", "6": "fd99::/64{128,128}"} {
		conf += strings.NewReplacer("V", v, "NETS", nets).Replace(`ipvV table lbvV;
filter anycast_netsV { if net ~ [ NETS ] then { bgp_community.add((65001, 42)); accept; } reject; }
protocol kernel lb_vV { learn; kernel table 198; scan time 1; metric 64; ipvV { table lbvV; import filter anycast_netsV; export where dest != RTD_UNREACHABLE; }; }
protocol pipe lb_pipe_vV { table masterV; peer table lbvV; import all; export none; }
filter to_routersV { if proto = "lb_vV" then accept; reject; }
`)
		bgp += strings.ReplaceAll("  ipvV { import none; export filter to_routersV; next hop self; };\n", "V", v)
	}
	return n.Start("bird", "bird", "-f", "-c", try.Get(n.WriteFile("bird.conf", conf+bgp+"}\n", 0o644)), "-s", n.Path("bird.ctl"))
}

// RunFRROfKubeVIP runs FRR on a node in the way that is published for kube-vip's routing table (OpenShift), where bgpd takes what is in lists of prefixes, but
// from the main table: FRR 8.4 has no `table-direct`, and takes a route of a table that it imports for gone as soon as the route changes.
func RunFRROfKubeVIP(n *lab.Node, router *lab.Peer) (*lab.Process, error) {
	var lists, families string
	for v, vip := range map[string]string{"4": "ip prefix-list VIPS4 seq 10 permit 10.99.0.100/32", "6": "ipv6 prefix-list VIPS6 seq 10 permit fd99::100/128"} {
		match := map[string]string{"4": " match ip address prefix-list VIPS4\n", "6": " match ipv6 address prefix-list VIPS6\n set ipv6 next-hop global " + n.Addr6.String() + "\n"}[v]
		lists += fmt.Sprintf("%[1]s\nroute-map ROUTES%[2]s permit 10\n%[3]sroute-map ROUTES%[2]s deny 20\n!\n", vip, v, match)
		families += fmt.Sprintf(" address-family ipv%[1]s unicast\n  redistribute kernel route-map ROUTES%[1]s\n  neighbor %[2]s activate\n exit-address-family\n", v, router.Address)
	}
	return startFRR(n, "bgpd", fmt.Sprintf("log stdout\n%srouter bgp %d\n bgp router-id %s\n no bgp ebgp-requires-policy\n neighbor %s remote-as %d\n neighbor %s timers connect 1\n%s!\n",
		lists, nodesAS, n.Address, router.Address, routerAS, router.Address, families))
}

// NextHops are the nodes to which the lab's router sends what is for an address, by their addresses there.
func NextHops(l *lab.Lab, address netip.Addr) (out []string, err error) {
	defer try.Catch(&err)
	family := "-4"
	if address.Is6() {
		family = "-6"
	}
	text := try.Get(l.Router.Run("ip", family, "-j", "route", "show", address.String()))
	type hop struct {
		Gateway string `json:"gateway"`
	}
	var routes []struct {
		hop
		NextHops []hop `json:"nexthops"`
	}
	if err := json.Unmarshal([]byte(text), &routes); err != nil {
		return nil, fmt.Errorf("ip route of %s: %w: %s", address, err, text)
	}
	for _, r := range routes {
		for _, h := range append(r.NextHops, r.hop) {
			if h.Gateway != "" {
				out = append(out, h.Gateway)
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

func sessionWith(l *lab.Lab, n *lab.Node) (string, error) {
	return l.Router.Run("birdc", "-s", l.Dir+"/router.ctl", "show", "protocols", "all", fmt.Sprintf("n%d", n.ID))
}

// Established tells whether the lab's router has a session with a node's daemon, in which it has heard all that the daemon has to say: a router keeps
// the routes of a daemon that ends for a while (RFC 4724).
func Established(l *lab.Lab, n *lab.Node) bool {
	text, err := sessionWith(l, n)
	return err == nil && strings.Contains(text, "Established") && !strings.Contains(text, "graceful restart active")
}

// UpdatesFrom is what the lab's router counts of each node's routes: those that were announced and withdrawn, as BIRD shows it.
func UpdatesFrom(l *lab.Lab, nodes ...*lab.Node) string {
	var out strings.Builder
	for _, n := range nodes {
		text, err := sessionWith(l, n)
		fmt.Fprintf(&out, "n%d: %v\n", n.ID, err)
		for line := range strings.Lines(text) {
			if strings.Contains(line, "Import updates:") || strings.Contains(line, "Import withdraws:") {
				out.WriteString(line)
			}
		}
	}
	return out.String()
}
