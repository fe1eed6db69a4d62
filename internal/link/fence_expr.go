package link

import (
	"encoding/binary"
	"time"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// A match is a run of nftables expressions, of which each one lets the packet go on to the next or ends the rule.
type match []expr.Any

// The two registers: what was read from the packet, and the group that it belongs to.
const (
	regPacket = 1
	regGroup  = 2
)

func and(parts ...match) match {
	var m match
	for _, p := range parts {
		m = append(m, p...)
	}
	return m
}

// etherType compares the frame's type, below any VLAN tag.
func etherType(t uint16) match {
	return match{
		&expr.Meta{Key: expr.MetaKeyPROTOCOL, Register: regPacket},
		&expr.Cmp{Op: expr.CmpOpEq, Register: regPacket, Data: binary.BigEndian.AppendUint16(nil, t)},
	}
}

// l4proto compares the protocol above IP, behind any IPv6 extension header.
func l4proto(p byte) match {
	return match{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: regPacket},
		&expr.Cmp{Op: expr.CmpOpEq, Register: regPacket, Data: []byte{p}},
	}
}

// field is a place in a packet.
type field struct {
	base        expr.PayloadBase
	offset, len uint32
}

func (f field) load() match {
	return match{&expr.Payload{OperationType: expr.PayloadLoad, DestRegister: regPacket, Base: f.base, Offset: f.offset, Len: f.len}}
}

func (f field) is(op expr.CmpOp, value ...byte) match {
	return append(f.load(), &expr.Cmp{Op: op, Register: regPacket, Data: value})
}

// The fields that the fence looks at. A network header is an ARP packet's start as well (RFC 826, RFC 791, RFC 8200, RFC 4861, RFC 9568).
var (
	arpOperation   = field{expr.PayloadBaseNetworkHeader, 6, 2}
	arpSender      = field{expr.PayloadBaseNetworkHeader, 14, 4}
	arpTarget      = field{expr.PayloadBaseNetworkHeader, 24, 4}
	ip4Source      = field{expr.PayloadBaseNetworkHeader, 12, 4}
	ip4Dest        = field{expr.PayloadBaseNetworkHeader, 16, 4}
	ip6Source      = field{expr.PayloadBaseNetworkHeader, 8, 16}
	ip6Dest        = field{expr.PayloadBaseNetworkHeader, 24, 16}
	icmp6Type      = field{expr.PayloadBaseTransportHeader, 0, 1}
	ndTarget       = field{expr.PayloadBaseTransportHeader, 8, 16}
	advertVRID     = field{expr.PayloadBaseTransportHeader, 1, 1}
	advertPriority = field{expr.PayloadBaseTransportHeader, 2, 1}
)

// groupOf ends the rule unless what was loaded is an address of ours, and keeps the group of the address.
func groupOf(addresses string) match {
	return match{&expr.Lookup{SourceRegister: regPacket, DestRegister: regGroup, IsDestRegSet: true, SetName: addresses}}
}

// in and notIn ask whether the group is in a set.
func in(set string) match {
	return match{&expr.Lookup{SourceRegister: regGroup, SetName: set}}
}

func notIn(set string) match {
	return match{&expr.Lookup{SourceRegister: regGroup, SetName: set, Invert: true}}
}

// renew puts the group with the ID into a timed set, or starts its time there again.
func renew(set string, id uint32, timeout time.Duration) match {
	return match{
		&expr.Immediate{Register: regGroup, Data: groupKey(id)},
		&expr.Dynset{SrcRegKey: regGroup, SetName: set, Operation: uint32(unix.NFT_DYNSET_OP_UPDATE), Timeout: timeout},
	}
}

func verdict(kind expr.VerdictKind, chain string) match {
	return match{&expr.Verdict{Kind: kind, Chain: chain}}
}

func drop() match             { return verdict(expr.VerdictDrop, "") }
func jump(chain string) match { return verdict(expr.VerdictJump, chain) }

// groupKey is a group's ID as the sets hold it, in the form of a packet mark.
func groupKey(id uint32) []byte { return binary.NativeEndian.AppendUint32(nil, id) }
