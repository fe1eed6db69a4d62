package config

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// Spread is how the load of a virtual address is spread over the members.
type Spread struct {
	Via    via
	Ports  []SpreadPort // as listed; see [VIP.SpreadPorts]
	Weight uint8        // this node's share of new connections, relative to that of the others; 0: none
	// Backends are servers without keepvip that connections go to in place of members, and BackendCheck what they are asked.
	Backends     []Backend
	BackendCheck Check
	Members      []netip.Addr // the own addresses of all members that serve, in this order on every node; none: those that are heard, sorted
}

// via is the way by which a packet comes to the member that owns its slot.
type via string

// The ways.
const (
	ViaOff    via = off      // nothing is spread: the holder serves everything
	ViaDirect via = "direct" // over the link, as it is; the answer goes from the member to the client
	// ViaMasquerade: translated by the holder, and so is the answer, which goes back by it.
	ViaMasquerade via = "masquerade"
)

// SpreadPort is one port of the address that is spread: clients connect to Port. Target 0 is the same as Port. Its JSON
// form is part of the status.
type SpreadPort struct {
	Protocol Protocol `json:"protocol"`
	Port     uint16   `json:"port"`
	Target   uint16   `json:"target"` // of each member's own address
	Check    string   `json:"-"`      // the name of the check that says whether the port is healthy; "": what decides the election
}

// TCP tells whether what clients begin at the port are connections.
func (p SpreadPort) TCP() bool { return p.Protocol != ProtocolUDP }

// Text is "9443 to 6443 of udp", as an operator reads it.
func (p SpreadPort) Text() string {
	text := strconv.Itoa(int(p.Port))
	if p.Target != p.Port {
		text += fmt.Sprintf(" to %d", p.Target)
	}
	if p.Protocol != ProtocolTCP {
		text += " of " + string(p.Protocol)
	}
	return text
}

// Label is "9443/tcp", as metrics have it.
func (p SpreadPort) Label() string { return strconv.Itoa(int(p.Port)) + "/" + string(p.Protocol) }

// Protocol is that of a port.
type Protocol string

// The protocols.
const (
	ProtocolTCP Protocol = "tcp"
	ProtocolUDP Protocol = "udp"
)

// Number is that of the protocol in the header of a packet.
func (p Protocol) Number() uint8 {
	if p == ProtocolUDP {
		return unix.IPPROTO_UDP
	}
	return unix.IPPROTO_TCP
}

const (
	spreadKey = "spread"
	// spreadPorts is where ports are listed in an entry.
	spreadPorts = spreadKey + ".ports"
	// maxSpreadPorts is how many a HELLO has room for.
	maxSpreadPorts = 16
	// maxSpreadMembers is how many members slots are divided among.
	maxSpreadMembers = 7
)

func spreadOptions() []Option {
	return []Option{
		option("vips[].spread.via", "spread", string(ViaOff), live, one(enum(ViaOff, ViaDirect, ViaMasquerade), func(t target) *via { return &t.vip.Spread.Via }),
			"How new connections are spread over the members: off: the holder serves all of them; direct: each member serves its share, over the link that all members are on, and connections outlive a move of the address; masquerade, for networks that refuse direct: the holder translates, servers see the holder as the client, and connections end when the address moves. The same on all nodes").short(),
		option("vips[].spread.weight", "spread-weight", "1", live, one(number[uint8](0, 255), func(t target) *uint8 { return &t.vip.Spread.Weight }),
			"This node's share of new connections, relative to that of the other members; with 0 the node gets none, and keeps those that it has"),
		option("vips[].spread.members", "spread-member", "", live, many(address(), func(t target) *[]netip.Addr { return &t.vip.Spread.Members }),
			"The own addresses of all members that serve: at most 7, in the same order on all nodes, a new one at the end. A candidate that is not in the list sends on what it receives, and serves nothing. Without the list all members that are heard serve, in the order of their addresses"),
	}
}

// ported is every option of a port that is spread. They are in the file only: a flag could not say which port it means.
var ported = portOptions()

func portOptions() []Option {
	at := func(key string) string { return vipsKey + "[]." + spreadPorts + "[]." + key }
	return []Option{
		unflagged(at("port"), "", one(number[uint16](0, 65535), func(t target) *uint16 { return &t.port.Port }),
			"The port of the virtual address that clients connect to; required"),
		unflagged(at("target"), "0", one(number[uint16](0, 65535), func(t target) *uint16 { return &t.port.Target }),
			"The port of each member's own address that the service listens on; 0: the same as port"),
		unflagged(at("protocol"), string(ProtocolTCP), one(enum(ProtocolTCP, ProtocolUDP), func(t target) *Protocol { return &t.port.Protocol }),
			"The protocol of the port; with udp each packet goes to the owner of its slot, as there is no second chance"),
		unflagged(at("check"), "", one(pattern("name", `^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`, "the name of a check under checks"), func(t target) *string { return &t.port.Check }),
			"The name of the check that says whether this node's port is healthy; without it the port is healthy while the node is fit for the election"),
	}
}

// Port is where clients of v connect, as far as its checks say; otherwise 0.
func (v VIP) Port() uint16 {
	for _, c := range v.AllChecks() {
		at := c.Address
		if u, err := url.Parse(c.URL); at == "" && err == nil {
			at = u.Host
		}
		if _, text, err := net.SplitHostPort(at); err == nil {
			if port, err := strconv.ParseUint(text, 10, 16); err == nil {
				return uint16(port)
			}
		}
	}
	return 0
}

// SpreadPorts are the ports that are spread, each with its target; none where nothing is, as of an external address. Without a list it is the
// one that is checked.
func (v VIP) SpreadPorts() []SpreadPort {
	if v.External() {
		return nil
	}
	return v.spreadPorts()
}

// spreadPorts are those ports also of an external address.
func (v VIP) spreadPorts() []SpreadPort {
	if v.Spread.Via == ViaOff {
		return nil
	}
	ports := slices.Clone(v.Spread.Ports)
	if p := v.Port(); len(ports) == 0 && p != 0 {
		ports = []SpreadPort{{Port: p, Protocol: ProtocolTCP}}
	}
	for i := range ports {
		ports[i].Target = cmp.Or(ports[i].Target, ports[i].Port)
	}
	return ports
}

// spread refuses what cannot be spread.
func (k vipValidator) spread() {
	k.spreadPorts()
	k.spreadMembers()
	k.backends()
	if k.v.Spread.Via == ViaOff || k.v.External() {
		return
	}
	via, members := k.v.Spread.Via, len(k.v.Spread.Backends) == 0
	switch {
	case k.Port == 0 && members:
		k.fail("spread.via", "%s with port 0, so that the members do not know each other; want another port, the same on all nodes, or spread off", via)
	case len(k.v.Elsewhere) > 0:
		k.fail("spread.via", "%s with elsewhere, want an entry for each interface, with the same group", via)
	case k.v.VRRP.MinTTL != mostTTL && members:
		k.fail("spread.via", "%s with vrrp.minTTL %d, by which members are behind routers; want all of them on one link, or spread off", via, k.v.VRRP.MinTTL)
	case len(k.v.SpreadPorts()) == 0:
		k.fail(spreadPorts, "missing, and no check names a port; want the ports that are spread, such as [{port: 6443}]")
	}
}

func (k vipValidator) spreadPorts() {
	ports := k.v.Spread.Ports
	if len(ports) > maxSpreadPorts {
		k.fail(spreadPorts, "%d ports, want at most %d", len(ports), maxSpreadPorts)
	}
	type front struct {
		protocol Protocol
		port     uint16
	}
	first := map[front]int{}
	for i, p := range ports {
		at := func(key string) string { return fmt.Sprintf("%s[%d].%s", spreadPorts, i, key) }
		if p.Port == 0 {
			k.fail(at("port"), "missing, want the port that clients connect to")
			continue
		}
		if p.Port == k.Port && (!p.TCP() || len(k.ByRaft()) > 0) {
			k.fail(at("port"), "%d of %s is the port of the members themselves; want another one, or another port for them", p.Port, p.Protocol)
		}
		if j, taken := first[front{p.Protocol, p.Port}]; taken {
			k.fail(at("port"), "%d of %s is also that of %s[%d], want it once", p.Port, p.Protocol, spreadPorts, j)
		}
		first[front{p.Protocol, p.Port}] = i
		if p.Check != "" && !slices.ContainsFunc(k.v.Checks, func(c ListedCheck) bool { return c.Name == p.Check }) {
			k.fail(at("check"), "%s is the name of no check, want that of an entry under %s", p.Check, checksKey)
		}
	}
}

func (k vipValidator) spreadMembers() {
	list := k.v.Spread.Members
	if len(list) > maxSpreadMembers {
		k.fail("spread.members", "%d members, want at most %d", len(list), maxSpreadMembers)
	}
	for _, m := range list {
		k.nodesOwn("spread.members", m)
	}
}

// ListenPort is the port of the addresses at which the holder has to listen by itself, 0: none is known, or connections to it are translated or
// somebody else's. sure: clients connect there. Otherwise it may be a port for checks, which this host alone needs.
func (v VIP) ListenPort() (port uint16, sure bool) {
	port = v.Port()
	if v.External() || port == 0 || slices.ContainsFunc(v.SpreadPorts(), SpreadPort.TCP) {
		return 0, false
	}
	preset := slices.ContainsFunc(presets, func(p preset) bool { return p.name == v.Check.URL })
	return port, preset && len(v.Checks) == 0 || port == apiserverPort
}
