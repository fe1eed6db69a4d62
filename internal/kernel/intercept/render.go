package intercept

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/kernel/nfttables"
)

// The sets and maps, and the chains beside those at hooks: one for each target, which gives each connection to the next backend by the map of the same name,
// and one for each backend.
//
//	map targets     address . protocol . port -> chain of the target; timed: without it no rule does anything
//	set ports       the keys of targets, with Incoming; timed as well
//	set strays      address . protocol . port of clients whose packets belong to no connection, with Incoming; rules put them there
const (
	mapTargets = "targets"
	setPorts   = "ports"
	setStrays  = "strays"
)

// The forms of the tables. Before Linux 5.9 the kernel cannot answer by a reset before it has routed a packet.
const (
	answering = iota
	silent
	forms
)

// Priorities. Connections are known from -200 on. What spreads the load translates at -110, and kube-proxy at -100: the first that translates a
// connection is the only one.
const (
	strayPriority = -150
	destPriority  = -115
)

// layout is what differs between IPv4 and IPv6.
type layout struct {
	family       byte
	source, dest uint32 // where they are in the header
	address, key nfttables.Kind
}

var layouts = []layout{
	{unix.NFPROTO_IPV4, 12, 16, nfttables.TypeIPv4, nfttables.TypePort4}, {unix.NFPROTO_IPV6, 8, 24, nfttables.TypeIPv6, nfttables.TypePort6},
}

func (l layout) has(a netip.Addr) bool { return a.Is4() == (l.family == unix.NFPROTO_IPV4) }

// render makes the tables of a configuration: one for each family of its targets. It does not depend on the order of these, nor on that of backends.
func (c Config) render(start uint32, form int) []nfttables.Table {
	var tables []nfttables.Table
	for _, l := range layouts {
		targets := slices.DeleteFunc(slices.Clone(c.Targets), func(t Target) bool { return !l.has(t.Address) })
		slices.SortFunc(targets, func(a, b Target) int { return strings.Compare(a.name(), b.name()) })
		if len(targets) > 0 {
			tables = append(tables, c.table(l, targets, start, form))
		}
	}
	return tables
}

func (c Config) table(l layout, targets []Target, start uint32, form int) nfttables.Table {
	places := nfttables.Set{Name: mapTargets, Key: l.key, Data: nfttables.TypeVerdict, Timed: true}
	var choices []nfttables.Set
	var backends, chains []nfttables.Chain
	for _, t := range targets {
		order := turns(t.usual(), start)
		if len(order) == 0 {
			continue
		}
		places.Elements = append(places.Elements, nfttables.Element{Key: t.key(), To: t.name()})
		choice := nfttables.Set{Name: t.name(), Key: nfttables.TypeMark, Data: nfttables.TypeVerdict}
		for i, b := range order {
			choice.Elements = append(choice.Elements, nfttables.Element{Key: string(native(uint32(i))), To: b.name()})
			backends = append(backends, nfttables.Chain{Name: b.name(), Rules: []nfttables.Match{b.rule(l.family)}})
		}
		choices = append(choices, choice)
		chains = append(chains, nfttables.Chain{Name: t.name(), Rules: []nfttables.Match{t.rule(len(order))}})
	}
	slices.SortFunc(backends, byName)
	backends = slices.CompactFunc(backends, func(a, b nfttables.Chain) bool { return a.Name == b.Name })
	sets := []nfttables.Set{places}
	if c.Incoming {
		ports := nfttables.Set{Name: setPorts, Key: l.key, Timed: true}
		for _, e := range places.Elements {
			ports.Elements = append(ports.Elements, nfttables.Element{Key: e.Key})
		}
		sets = append(sets, ports)
		if form == answering {
			sets = append(sets, nfttables.Set{Name: setStrays, Key: l.key, Timed: true, Dynamic: true, Size: mostStrays})
		}
	}
	return nfttables.Table{Family: l.family, Sets: append(sets, choices...), Chains: slices.Concat(backends, chains, c.hooks(l, form))}
}

func byName(a, b nfttables.Chain) int { return strings.Compare(a.Name, b.Name) }

// name is such that nft can read it again.
func (t Target) name() string  { return name("for", t.Address, protocolName(t.Protocol), t.Port) }
func (b Backend) name() string { return name("to", b.At.Addr(), "port", b.At.Port()) }

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

// hooks are the chains that the kernel calls for the first packet of each connection. They do not depend on targets.
func (c Config) hooks(l layout, form int) []nfttables.Chain {
	hook := func(name string, number uint32, priority int32, rules ...nfttables.Match) nfttables.Chain {
		return nfttables.Chain{Name: name, Kind: "nat", Hook: number, Priority: priority, Rules: rules}
	}
	hooks := []nfttables.Chain{hook("output", unix.NF_INET_LOCAL_OUT, destPriority, tracked(), inItsMidst(), l.toTarget())}
	if c.Incoming {
		stray := []nfttables.Match{l.stray()}
		if form == answering {
			stray = []nfttables.Match{l.strayAgain(), l.stray()}
		}
		hooks = append(hooks, hook("incoming", unix.NF_INET_PRE_ROUTING, destPriority, l.toTarget()), nfttables.Chain{
			Name: "stray", Kind: "filter", Hook: unix.NF_INET_PRE_ROUTING, Priority: strayPriority, Rules: stray,
		})
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
func (l layout) toTarget() nfttables.Match {
	return nfttables.And(l.forTarget(), nfttables.Run(
		&expr.Lookup{SourceRegister: register, DestRegister: verdictRegister, IsDestRegSet: true, SetName: mapTargets}))
}

// forTarget loads what targets are known by.
func (l layout) forTarget() nfttables.Match { return l.end(l.dest, 2) }

// ofClient loads what a client is known by, in the same way.
func (l layout) ofClient() nfttables.Match { return l.end(l.source, 0) }

// end loads the address, the protocol and the port that are at these places of the headers.
func (l layout) end(address, port uint32) nfttables.Match {
	words := l.address.Length / 4
	return nfttables.Run(
		load(expr.PayloadBaseNetworkHeader, address, l.address.Length, register),
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: register + words},
		load(expr.PayloadBaseTransportHeader, port, 2, register+words+1),
	)
}

// inItsMidst leaves packets of TCP alone that do not begin a connection: what connection tracking takes up in its midst, as when it has just come
// into use here, is a connection that somebody has, and goes on where it went.
func inItsMidst() nfttables.Match {
	return nfttables.And(isProtocol(unix.IPPROTO_TCP), nfttables.Run(
		load(expr.PayloadBaseTransportHeader, 13, 1, register),
		&expr.Bitwise{SourceRegister: register, DestRegister: register, Len: 1, Mask: []byte{fin | syn | rst | ack}, Xor: []byte{0}},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: register, Data: []byte{syn}},
		&expr.Verdict{Kind: expr.VerdictAccept}))
}

// The flags of a TCP segment.
const fin, syn, rst, ack = 0x01, 0x02, 0x04, 0x10

// strayTime is for how long it is remembered that a client was not answered. Its third repetition comes within a second (RFC 6298: 200, 400 ms).
const (
	strayTime   = 10 * time.Second
	strayChance = 2    // segments of a client that are dropped
	mostStrays  = 4096 // clients, so that nobody fills the memory; of others everything is dropped
)

// strayAgain answers a client by a reset whose segments go on to be strays: its connection was with another host, and this one remembers an older
// one from the same port, so it takes these segments for parts of that. The first ones are dropped: one that is late, of a connection that is here,
// is a stray as well, and a reset would end that connection.
func (l layout) strayAgain() nfttables.Match {
	return nfttables.And(isInvalid(), isProtocol(unix.IPPROTO_TCP), nfttables.Run(
		load(expr.PayloadBaseTransportHeader, 13, 1, register),
		&expr.Bitwise{SourceRegister: register, DestRegister: register, Len: 1, Mask: []byte{rst | ack}, Xor: []byte{0}},
		&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: []byte{ack}},
	), l.forTarget(), nfttables.Run(&expr.Lookup{SourceRegister: register, SetName: setPorts}), l.ofClient(), nfttables.Run(
		&expr.Dynset{
			SrcRegKey: register, SetName: setStrays, Operation: unix.NFT_DYNSET_OP_UPDATE, Timeout: strayTime,
			Exprs: []expr.Any{&expr.Limit{Type: expr.LimitTypePkts, Rate: 1, Unit: expr.LimitTimeMinute, Burst: strayChance, Over: true}},
		},
		&expr.Reject{Type: unix.NFT_REJECT_TCP_RST}))
}

// stray drops what is for a target, and by connection tracking belongs to no connection and begins none, as a client's reset of a connection that
// another host has had. Nobody is behind this host who could have it, and a router would only send it here again.
func (l layout) stray() nfttables.Match {
	return nfttables.And(isInvalid(), l.forTarget(), nfttables.Run(
		&expr.Lookup{SourceRegister: register, SetName: setPorts},
		&expr.Verdict{Kind: expr.VerdictDrop}))
}

// tracked keeps connection tracking in use while no rule translates, as where no backend is left: the kernel stops tracking, and with it translating
// the connections there are, when the last rule of a network namespace that asks for either is gone. It never matches: chains for NAT do not see
// what is invalid.
func tracked() nfttables.Match {
	return nfttables.And(isInvalid(), nfttables.Run(&expr.Verdict{Kind: expr.VerdictAccept}))
}

// isInvalid ends the rule unless connection tracking can make nothing of the packet.
func isInvalid() nfttables.Match {
	return nfttables.Run(
		&expr.Ct{Key: expr.CtKeySTATE, Register: register},
		&expr.Bitwise{SourceRegister: register, DestRegister: register, Len: 4, Mask: native(expr.CtStateBitINVALID), Xor: native(0)},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: register, Data: native(0)},
	)
}

func isProtocol(p byte) nfttables.Match {
	return nfttables.Run(&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: register}, &expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: []byte{p}})
}

// rule gives the connection to the backend whose turn it is.
func (t Target) rule(turns int) nfttables.Match {
	return nfttables.And(isProtocol(t.Protocol), nfttables.Run(
		&expr.Numgen{Register: register, Modulus: uint32(turns), Type: unix.NFT_NG_INCREMENTAL},
		&expr.Lookup{SourceRegister: register, DestRegister: verdictRegister, IsDestRegSet: true, SetName: t.name()}))
}

func (b Backend) rule(family byte) nfttables.Match {
	return nfttables.Run(
		&expr.Immediate{Register: register, Data: b.At.Addr().AsSlice()},
		&expr.Immediate{Register: portRegister, Data: binary.BigEndian.AppendUint16(nil, b.At.Port())},
		&expr.NAT{Type: expr.NATTypeDestNAT, Family: uint32(family), RegAddrMin: register, RegProtoMin: portRegister, Specified: true},
	)
}

func load(base expr.PayloadBase, offset, length, register uint32) expr.Any {
	return &expr.Payload{OperationType: expr.PayloadLoad, DestRegister: register, Base: base, Offset: offset, Len: length}
}

func native(n uint32) []byte { return binary.NativeEndian.AppendUint32(nil, n) }
