package intercept

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// A table is what one of nftables should have. Tables are compared with reflect.DeepEqual, so they are made of values only.
type table struct {
	family    byte
	addresses []string   // those of the targets, as in a packet
	hooks     []hook     // the same as long as targets, links and own addresses are
	targets   []element  // timed: without them no rule does anything
	choices   []choice   // one for each target
	backends  []endpoint // one for each backend
}

// hook is a chain that the kernel calls for the first packet of each connection.
type hook struct {
	name     string
	number   uint32
	priority int32
	rules    []match
}

// element of the map of targets, as in registers, with the chain to go to.
type element struct{ key, chain string }

// choice is the chain of a target, and the map of the same name, by which it gives each connection to the next backend.
type choice struct {
	name     string
	protocol uint8
	turns    []string // the chains of backends
}

// endpoint is the chain of a backend.
type endpoint struct {
	name    string
	address string // as in a packet
	port    uint16
}

type match []expr.Any

func and(parts ...match) match { return slices.Concat(parts...) }

// Priorities. Connections are known from -200 on. What spreads the load translates at -110 and 90, and kube-proxy at -100 and 100: the first
// that translates a connection is the only one.
const (
	destPriority   = -115
	sourcePriority = 85
)

const (
	setAddresses = "addresses"
	mapTargets   = "targets"
)

// layout is what differs between IPv4 and IPv6.
type layout struct {
	family       byte
	source, dest uint32 // where they are in the header
	length       uint32 // of an address
}

var layouts = []layout{{unix.NFPROTO_IPV4, 12, 16, 4}, {unix.NFPROTO_IPV6, 8, 24, 16}}

func (l layout) has(a netip.Addr) bool { return a.Is4() == (l.family == unix.NFPROTO_IPV4) }

// render makes the tables of a configuration: one for each family of its targets.
func (c Config) render(start uint32) []table {
	var tables []table
	for _, l := range layouts {
		targets := slices.DeleteFunc(slices.Clone(c.Targets), func(t Target) bool { return !l.has(t.Address) })
		if len(targets) > 0 {
			tables = append(tables, c.table(l, targets, start))
		}
	}
	return tables
}

func (c Config) table(l layout, targets []Target, start uint32) table {
	t := table{family: l.family, hooks: c.hooks(l)}
	seen := map[string]bool{}
	for _, target := range targets {
		t.addresses = append(t.addresses, string(target.Address.AsSlice()))
		ch := choice{name: target.name(), protocol: target.Protocol}
		for _, b := range turns(target.usual(), start) {
			e := endpoint{b.name(), string(b.Address.AsSlice()), b.Port}
			ch.turns = append(ch.turns, e.name)
			if !seen[e.name] {
				seen[e.name] = true
				t.backends = append(t.backends, e)
			}
		}
		if len(ch.turns) > 0 {
			t.choices = append(t.choices, ch)
			t.targets = append(t.targets, element{target.key(), ch.name})
		}
	}
	slices.Sort(t.addresses)
	t.addresses = slices.Compact(t.addresses)
	slices.SortFunc(t.targets, func(a, b element) int { return strings.Compare(a.key, b.key) })
	slices.SortFunc(t.choices, func(a, b choice) int { return strings.Compare(a.name, b.name) })
	slices.SortFunc(t.backends, func(a, b endpoint) int { return strings.Compare(a.name, b.name) })
	return t
}

// name is such that nft can read it again.
func (t Target) name() string  { return name("for", t.Address, protocolName(t.Protocol), t.Port) }
func (b Backend) name() string { return name("to", b.Address, "port", b.Port) }

func name(what string, a netip.Addr, how string, port uint16) string {
	return fmt.Sprintf("%s-%s-%s-%d", what, strings.ReplaceAll(a.String(), ":", "-"), how, port)
}

func protocolName(p uint8) string {
	if p == unix.IPPROTO_UDP {
		return "udp"
	}
	return "tcp"
}

// key is address, protocol and port as they lie in registers, each padded to four bytes.
func (t Target) key() string {
	b := append(t.Address.AsSlice(), t.Protocol, 0, 0, 0)
	return string(append(binary.BigEndian.AppendUint16(b, t.Port), 0, 0))
}

func (c Config) hooks(l layout) []hook {
	hooks := []hook{{"output", unix.NF_INET_LOCAL_OUT, destPriority, []match{l.toTarget()}}}
	if c.Pods {
		h := hook{"pods", unix.NF_INET_PRE_ROUTING, destPriority, nil}
		for _, index := range slices.Sorted(slices.Values(c.Uplinks)) {
			h.rules = append(h.rules, and(comesIn(index), accept()))
		}
		h.rules = append(h.rules, l.toTarget())
		hooks = append(hooks, h)
	}
	i := slices.IndexFunc(c.Self, l.has)
	if i >= 0 {
		hooks = append(hooks, hook{"source", unix.NF_INET_POST_ROUTING, sourcePriority, []match{l.ownSource(c.Self[i])}})
	}
	return hooks
}

// Registers: those of four bytes, of which a field takes as many as it needs, and behind the ones for an address that for a port.
const (
	register        = unix.NFT_REG32_00
	portRegister    = unix.NFT_REG32_08
	verdictRegister = unix.NFT_REG_VERDICT
)

// toTarget goes on at the chain of a target, if the packet is for one.
func (l layout) toTarget() match {
	words := l.length / 4
	return match{
		load(expr.PayloadBaseNetworkHeader, l.dest, l.length, register),
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: register + words},
		load(expr.PayloadBaseTransportHeader, 2, 2, register+words+1),
		&expr.Lookup{SourceRegister: register, DestRegister: verdictRegister, IsDestRegSet: true, SetName: mapTargets},
	}
}

// ownSource gives a connection that has the address itself as its source, and that was translated, one of this host's own.
func (l layout) ownSource(own netip.Addr) match {
	const translated = 1 << 5 // IPS_DST_NAT
	return match{
		load(expr.PayloadBaseNetworkHeader, l.source, l.length, register),
		&expr.Lookup{SourceRegister: register, SetName: setAddresses},
		&expr.Ct{Key: expr.CtKeySTATUS, Register: register},
		&expr.Bitwise{SourceRegister: register, DestRegister: register, Len: 4, Mask: native(translated), Xor: make([]byte, 4)},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: register, Data: native(0)},
		&expr.Immediate{Register: register, Data: own.AsSlice()},
		&expr.NAT{Type: expr.NATTypeSourceNAT, Family: uint32(l.family), RegAddrMin: register},
	}
}

// rule gives the connection to the backend whose turn it is.
//
// Of TCP only what begins with a SYN: what connection tracking takes up in its midst, as when it has just come into use here, is a
// connection that somebody has, and goes on where it went.
func (c choice) rule() match {
	m := match{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: register},
		&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: []byte{c.protocol}},
	}
	if c.protocol == unix.IPPROTO_TCP {
		const fin, syn, rst, ack = 0x01, 0x02, 0x04, 0x10
		m = append(m,
			load(expr.PayloadBaseTransportHeader, 13, 1, register),
			&expr.Bitwise{SourceRegister: register, DestRegister: register, Len: 1, Mask: []byte{fin | syn | rst | ack}, Xor: []byte{0}},
			&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: []byte{syn}})
	}
	return append(m,
		&expr.Numgen{Register: register, Modulus: uint32(len(c.turns)), Type: unix.NFT_NG_INCREMENTAL},
		&expr.Lookup{SourceRegister: register, DestRegister: verdictRegister, IsDestRegSet: true, SetName: c.name})
}

func (e endpoint) rule(family byte) match {
	return match{
		&expr.Immediate{Register: register, Data: []byte(e.address)},
		&expr.Immediate{Register: portRegister, Data: binary.BigEndian.AppendUint16(nil, e.port)},
		&expr.NAT{Type: expr.NATTypeDestNAT, Family: uint32(family), RegAddrMin: register, RegProtoMin: portRegister, Specified: true},
	}
}

func comesIn(index int) match {
	return match{&expr.Meta{Key: expr.MetaKeyIIF, Register: register}, &expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: native(uint32(index))}}
}

func accept() match { return match{&expr.Verdict{Kind: expr.VerdictAccept}} }

func load(base expr.PayloadBase, offset, length, register uint32) expr.Any {
	return &expr.Payload{OperationType: expr.PayloadLoad, DestRegister: register, Base: base, Offset: offset, Len: length}
}

func native(n uint32) []byte { return binary.NativeEndian.AppendUint32(nil, n) }
