package spreadtables

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/kernel/nfttables"
)

// The marks that a packet may carry from one member to the next, in its DSCP (RFC 2474): all are of those for local use, and these are the
// ones among them that have the bits of markBits.
const (
	markSpread = 43 // it was sent to its owner, marked because the MAC of the sender is not known there
	markLast   = 47 // nobody else gets it
	markBits   = 0b100011
	allOfDSCP  = 0b111111
)

// chances are the marks of a packet whose connection was not known where it was before. With the first of them nobody else gets it, and with
// each other one as many members more as are before it.
var chances = [...]byte{markLast, 51, 55, 59, 63, 35, 39}

// flow is where in a packet it says to which connection it belongs: in its own headers, or in those of the packet that an ICMP error is about,
// which went the other way.
type flow struct {
	client, clientPort      field // hashed
	address, protocol, port field // one that is spread
}

// family is what differs between IPv4 and IPv6.
type family struct {
	number    byte   // NFPROTO_IPV4, NFPROTO_IPV6
	suffix    string // of names in the table that both share
	etherType uint16
	address   kind
	key       kind // of ports
	source    field
	dest      field
	packet    flow
	inError   flow
	isError   match // of an ICMP error about a packet without options
	fragment  match
	hops      field                  // how many routers may still send it on
	dscp      field                  // the bytes with the DSCP in them
	withDSCP  func(dscp byte) []byte // a DSCP as the first two bytes of the header
	checksum  expr.Payload           // how to correct it
	original  uint32                 // the key for the destination of a connection's first packet
}

func ipv4() family {
	f := family{
		number: unix.NFPROTO_IPV4, suffix: "4", etherType: unix.ETH_P_IP, address: nfttables.TypeIPv4, key: nfttables.TypePort4,
		source: network(12, 4), dest: network(16, 4), dscp: network(1, 1), hops: network(8, 1),
		// Behind the 8 bytes of the ICMP header (RFC 792), a header without options.
		inError: flow{transport(24, 4), transport(30, 2), transport(20, 4), transport(17, 1), transport(28, 2)},
		// Types 3 and 11: destination unreachable, with a path MTU, and time exceeded.
		isError: and(protocol(unix.IPPROTO_ICMP), transport(0, 1).has(expr.CmpOpEq, []byte{0xf7}, []byte{3}), transport(8, 1).is(0x45)),
		// More fragments follow, or there were some before.
		fragment: network(6, 2).has(expr.CmpOpNeq, []byte{0x3f, 0xff}, []byte{0, 0}),
		withDSCP: func(dscp byte) []byte { return []byte{0, dscp << 2} },
		original: originalDest4,
		checksum: expr.Payload{CsumType: expr.CsumTypeInet, CsumOffset: 10},
	}
	f.packet = flow{f.source, transport(0, 2), f.dest, field{}, transport(2, 2)}
	return f
}

func ipv6() family {
	f := family{
		number: unix.NFPROTO_IPV6, suffix: "6", etherType: unix.ETH_P_IPV6, address: nfttables.TypeIPv6, key: nfttables.TypePort6,
		source: network(8, 16), dest: network(24, 16), dscp: network(0, 2), hops: network(7, 1),
		// Behind the 8 bytes of the ICMPv6 header (RFC 4443), a header that TCP or UDP follows.
		inError: flow{transport(32, 16), transport(50, 2), transport(16, 16), transport(14, 1), transport(48, 2)},
		isError: and(protocol(unix.IPPROTO_ICMPV6), transport(0, 1).has(expr.CmpOpEq, []byte{0x80}, []byte{0})),
		fragment: and(run(&expr.Exthdr{DestRegister: register, Type: unix.IPPROTO_FRAGMENT, Len: 1, Flags: unix.NFT_EXTHDR_F_PRESENT, Op: expr.ExthdrOpIpv6}),
			compare(expr.CmpOpEq, 1)),
		withDSCP: func(dscp byte) []byte { return binary.BigEndian.AppendUint16(nil, uint16(dscp)<<6) },
		original: originalDest6,
	}
	f.packet = flow{f.source, transport(0, 2), f.dest, field{}, transport(2, 2)}
	return f
}

// of picks the address of this family.
func (f family) of(addrs []netip.Addr) (netip.Addr, bool) {
	i := slices.IndexFunc(addrs, func(a netip.Addr) bool { return a.Is4() == (f.number == unix.NFPROTO_IPV4) })
	if i < 0 {
		return netip.Addr{}, false
	}
	return addrs[i], true
}

func (f family) all(addrs []netip.Addr) []netip.Addr {
	return slices.DeleteFunc(slices.Clone(addrs), func(a netip.Addr) bool { _, ok := f.of([]netip.Addr{a}); return !ok })
}

// words is how many registers an address takes.
func (f family) words() uint32 { return f.address.Length / 4 }

// spread ends the rule unless the flow is to an address and port of the set.
func (f family) spread(w flow, set string) match {
	proto := meta(expr.MetaKeyL4PROTO, register+f.words())
	if w.protocol.len > 0 {
		proto = w.protocol.to(register + f.words())
	}
	return and(w.address.to(register), proto, w.port.to(register+f.words()+1), in(set))
}

// slot makes the slot of a flow.
func (f family) slot(w flow, slots, seed uint32) match {
	return and(w.client.to(register), w.clientPort.to(register+f.words()), hash(f.address.Length+4, slots, seed))
}

// is ends the rule unless it is a frame of this family. Only the netdev family has to ask.
func (f family) is() match { return metaIs(expr.MetaKeyPROTOCOL, big(f.etherType)...) }

// ofVLAN ends the rule unless the frame has a tag. The kernel keeps the tag beside the packet, whose protocol is then that behind it.
func (f family) ofVLAN() match {
	return and(metaIs(expr.MetaKeyIIFTYPE, nativeShort(unix.ARPHRD_ETHER)...), etherType.to(register), compare(expr.CmpOpNeq, big(f.etherType)...))
}

// hopsLeft ends the rule when the packet may not be sent on once more; the kernel does not look, and 0 less one is 255. So one ends that goes
// round between members that do not have the same table, where frames have another MAC than their sender says, or a switch clears the marks.
// noHopsLeft is the opposite.
func (f family) hopsLeft() match   { return and(f.hops.to(register), compare(expr.CmpOpGt, 1)) }
func (f family) noHopsLeft() match { return and(f.hops.to(register), compare(expr.CmpOpLte, 1)) }

// marked ends the rule unless the packet has the mark.
func (f family) marked(mark byte) match { return f.hasDSCP(expr.CmpOpEq, allOfDSCP, mark) }

// marked by anybody, or with CmpOpNeq by nobody.
func (f family) markedAtAll(op expr.CmpOp) match { return f.hasDSCP(op, markBits, markBits) }

// hasDSCP compares bits of the DSCP. Only the bytes with a DSCP are loaded, as nft does it.
func (f family) hasDSCP(op expr.CmpOp, bits, value byte) match {
	from := f.dscp.offset
	return f.dscp.has(op, f.withDSCP(bits)[from:], f.withDSCP(value)[from:])
}

// mark gives the packet a mark.
func (f family) mark(mark byte) match {
	keep := f.withDSCP(allOfDSCP)
	for i := range keep {
		keep[i] = ^keep[i]
	}
	return network(0, 2).change(keep, f.withDSCP(mark), f.checksum)
}
