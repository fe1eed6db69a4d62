package config

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
)

// announceBy says how others learn where an address is.
type announceBy string

// The two ways.
const (
	byLink  announceBy = "link"  // gratuitous ARP and neighbour advertisements
	byRoute announceBy = "route" // a route, which a routing daemon of this host tells routers of
)

// What routes are known by where nothing else is said: the numbers that others have made configurations of FRR and BIRD for.
const (
	DefaultTable    = 198
	DefaultProtocol = 248
)

// mostTable is the largest number of a routing table that iproute2 takes.
const mostTable = 1<<31 - 1

func routeOptions() []Option {
	return []Option{
		option("vips[].announce.by", "announce", "", recreate, one(enum(byLink, byRoute), func(t target) *announceBy { return &t.vip.Announce.By }),
			"How others learn where the address is: link: by gratuitous ARP and neighbour advertisements; route: the node that serves also puts a route to the address into announce.table, "+
				"which BIRD or FRR on this host tells routers of (docs/routes.md). Without it link, and with election local route"),
		option("vips[].announce.table", "announce-table", strconv.Itoa(DefaultTable), recreate, one(number(1, mostTable), func(t target) *int { return &t.vip.Announce.Table }),
			"The number of the routing table that the route is in; 254 is the main one, which FRR needs"),
		option("vips[].announce.protocol", "announce-protocol", strconv.Itoa(DefaultProtocol), recreate, one(number[uint8](5, 255), func(t target) *uint8 { return &t.vip.Announce.Protocol }),
			"The protocol number of the route, by which filters of BIRD and FRR know it"),
	}
}

// Local tells whether nobody is elected: each fit node serves.
func (v VIP) Local() bool { return v.Election == ElectionLocal && !v.External() }

// LocalTalk tells whether members that elect nobody tell each other how they are all the same.
func (v VIP) LocalTalk() bool {
	return v.Local() && (v.Check.WhenAllUnhealthy == Hold || len(v.SpreadPorts()) > 0)
}

// Routed tells whether the node that serves announces a route.
func (v VIP) Routed() bool {
	return !v.External() && (v.Announce.By == byRoute || v.Announce.By == "" && v.Election == ElectionLocal)
}

// RoutedPorts are the ports of the addresses that this node's own program serves, each with its target: those of the list under spread, or else
// those that the checks look at.
func (v VIP) RoutedPorts() []SpreadPort {
	ports := slices.Clone(v.Spread.Ports)
	if p := v.Port(); len(ports) == 0 && p != 0 {
		ports = []SpreadPort{{Port: p, Protocol: ProtocolTCP}}
		for _, at := range v.furtherPorts() {
			_, text, _ := net.SplitHostPort(at)
			n, _ := strconv.ParseUint(text, 10, 16)
			ports = append(ports, SpreadPort{Port: uint16(n), Protocol: ProtocolTCP})
		}
	}
	for i := range ports {
		ports[i].Target = cmp.Or(ports[i].Target, ports[i].Port)
	}
	return ports
}

// deriveLocal has an unhealthy node withdraw where nothing else is said: nodes that do not know each other cannot tell when all are unhealthy.
func (c *Config) deriveLocal(i int) {
	v := &c.VIPs[i]
	if v.Local() && c.Origin(fmt.Sprintf("%s[%d].check.whenAllUnhealthy", vipsKey, i)).Source == Default {
		v.Check.WhenAllUnhealthy = Release
	}
}

// local refuses what needs an election, or other nodes.
func (k vipValidator) local() {
	set := func(key string) bool {
		return k.Origin(fmt.Sprintf("%s[%d].%s", vipsKey, k.i, key)).Source != Default
	}
	switch v := k.v; {
	case v.External():
	case v.Announce.By == byLink:
		k.fail("announce.by", "link with election local, by which several nodes would answer on one link; want route")
	case v.Spread.Via == ViaMasquerade:
		k.fail("spread.via", "%s with election local, where no node holds the address; want direct, or off: routers spread the connections", v.Spread.Via)
	case len(v.Candidates) > 0:
		k.fail("candidates", "%d with election local, by which each fit node serves; want none", len(v.Candidates))
	case v.Group != "":
		k.fail("group", "%s with election local, by which nothing moves; want none", v.Group)
	case set("priority"):
		k.fail("priority", "%d with election local, by which each fit node serves; want none", v.Priority)
	case v.Check.WhenAllUnhealthy == Hold && k.Port == 0:
		k.fail("check.whenAllUnhealthy", "hold with election local and port 0, without which the nodes do not know each other; want release, or a port")
	case len(v.RoutedPorts()) == 0:
		k.fail(spreadPorts, "missing, and no check names a port; want the ports at which clients connect, such as [{port: 6443}]")
	}
}
