package kubevip

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// neighbour is a router that kube-vip speaks BGP to.
type neighbour struct {
	address  netip.Addr
	as       uint32
	password bool
	multihop bool
}

// speaker is what kube-vip's BGP comes to.
type speaker struct {
	as         uint32
	id, source netip.Addr // invalid: not given
	hold, keep int        // seconds; 0: not given
	neighbours []neighbour
}

// defaultAS is what kube-vip has where bgp_as and bgp_peeras are not given.
const defaultAS = 65000

// speaker reads the settings of BGP; ok is false where no neighbour can be read.
func (all settings) speaker() (s speaker, ok bool) {
	if !all.on(envBGP) || all.on(envARP) {
		return s, false
	}
	text := func(env string) string {
		v, _ := all.get(env)
		return strings.TrimSpace(v.value)
	}
	s.as = numberOf[uint32](text("bgp_as"), defaultAS)
	s.id, _ = netip.ParseAddr(text("bgp_routerid"))
	s.source, _ = netip.ParseAddr(text("bgp_sourceip"))
	s.hold, s.keep = numberOf(text("bgp_hold_time"), 0), numberOf(text("bgp_keepalive_interval"), 0)
	for part := range strings.SplitSeq(text("bgp_peers"), ",") {
		if n, ok := readNeighbour(part); ok {
			s.neighbours = append(s.neighbours, n)
		}
	}
	if a, err := netip.ParseAddr(text("bgp_peeraddress")); err == nil && len(s.neighbours) == 0 {
		s.neighbours = []neighbour{{
			address: a, as: numberOf[uint32](text("bgp_peeras"), defaultAS), password: text("bgp_peerpass") != "", multihop: all.on("bgp_multihop"),
		}}
	}
	return s, len(s.neighbours) > 0
}

// readNeighbour reads "10.0.0.1:65000:PASSWORD:false", or "[fd00::1]:65000". The password is not kept.
func readNeighbour(text string) (n neighbour, ok bool) {
	text = strings.TrimSpace(text)
	address, rest, ok := strings.Cut(text, ":")
	if strings.HasPrefix(text, "[") {
		if address, rest, ok = strings.Cut(text[1:], "]:"); !ok {
			return n, false
		}
	}
	a, err := netip.ParseAddr(address)
	parts := strings.Split(rest, ":")
	n.address, n.as = a, numberOf[uint32](parts[0], 0)
	n.password = len(parts) > 1 && parts[1] != ""
	n.multihop = len(parts) > 2 && parts[2] == "true"
	return n, ok && err == nil && a.Zone() == "" && n.as > 0
}

// numberOf is a whole number of a text, or else another one.
func numberOf[T int | uint32](text string, other T) T {
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return T(n)
	}
	return other
}

// password stands where a secret has to be put in.
const passwordHere = "PASSWORD"

// bird is a configuration of BIRD 2 for the route of table and protocol. A comment says what has to be put in.
func (s speaker) bird(table, protocol string, six bool) string {
	var b strings.Builder
	if s.id.Is4() {
		fmt.Fprintf(&b, "router id %s; # another one on each node\n", s.id)
	}
	b.WriteString("protocol device {}\n")
	families := []string{"ipv4"}
	if six {
		families = append(families, "ipv6")
	}
	for _, f := range families {
		fmt.Fprintf(&b, "protocol kernel keepvip%s { kernel table %s; learn; %s { import where krt_source = %s; export none; }; }\n", f[len(f)-1:], table, f, protocol)
	}
	for i, n := range s.neighbours {
		local := ""
		if s.source.IsValid() && s.source.Is4() == n.address.Is4() {
			local = s.source.String() + " "
		}
		fmt.Fprintf(&b, "protocol bgp uplink%d {\n  local %sas %d;\n  neighbor %s as %d;\n", i+1, local, s.as, n.address, n.as)
		if n.multihop {
			b.WriteString("  multihop;\n")
		}
		if n.password {
			fmt.Fprintf(&b, "  password \"%s\"; # that of kube-vip\n", passwordHere)
		}
		if s.hold > 0 {
			fmt.Fprintf(&b, "  hold time %d;\n", s.hold)
		}
		if s.keep > 0 {
			fmt.Fprintf(&b, "  keepalive time %d;\n", s.keep)
		}
		for _, f := range families {
			fmt.Fprintf(&b, "  %s { import none; export where krt_source = %s; next hop self; };\n", f, protocol)
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// frr is the same for FRR, which takes routes of the main table.
func (s speaker) frr(six bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "route-map KEEPVIP permit 10\n match interface keepvip0\n set origin igp\n set metric 0\n!\nrouter bgp %d\n", s.as)
	if s.id.Is4() {
		fmt.Fprintf(&b, " bgp router-id %s\n", s.id)
	}
	b.WriteString(" no bgp ebgp-requires-policy\n")
	for _, n := range s.neighbours {
		fmt.Fprintf(&b, " neighbor %s remote-as %d\n neighbor %s advertisement-interval 0\n", n.address, n.as, n.address)
		if n.multihop {
			fmt.Fprintf(&b, " neighbor %s ebgp-multihop\n", n.address)
		}
		if n.password {
			fmt.Fprintf(&b, " neighbor %s password %s\n", n.address, passwordHere)
		}
		if s.source.IsValid() && s.source.Is4() == n.address.Is4() {
			fmt.Fprintf(&b, " neighbor %s update-source %s\n", n.address, s.source)
		}
		if s.hold > 0 {
			fmt.Fprintf(&b, " neighbor %s timers %d %d\n", n.address, cmp.Or(s.keep, max(s.hold/3, 1)), s.hold)
		}
	}
	for _, f := range []string{"ipv4", "ipv6"} {
		if f == "ipv6" && !six {
			continue
		}
		fmt.Fprintf(&b, " address-family %s unicast\n", f)
		for _, n := range s.neighbours {
			fmt.Fprintf(&b, "  neighbor %s activate\n", n.address)
		}
		b.WriteString("  redistribute kernel route-map KEEPVIP\n exit-address-family\n")
	}
	b.WriteString("!\n")
	return b.String()
}

// Routers is what a routing daemon of the node is to be told in place of kube-vip's BGP: the same neighbours.
type Routers struct{ BIRD, FRR string }

// routers is empty where kube-vip does not speak BGP, or no neighbour can be read. addresses are those of keepvip.
func (all settings) routers(addresses []string) (out Routers) {
	s, ok := all.speaker()
	if !ok {
		return out
	}
	given := func(env, usual string) string {
		if v, ok := all.get(env); ok && all.on(envRoutes) {
			return cmp.Or(v.value, usual)
		}
		return usual
	}
	six := slices.ContainsFunc(addresses, func(a string) bool { return strings.Contains(a, ":") })
	return Routers{BIRD: s.bird(given(envRouteTable, "198"), given(envRouteProtocol, "248"), six), FRR: s.frr(six)}
}
