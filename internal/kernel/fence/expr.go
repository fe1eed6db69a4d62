package fence

import (
	"encoding/binary"
	"time"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// A match is a run of nftables expressions, of which each one lets the packet go on to the next or ends the rule.
type match []expr.Any

const (
	register        = 1 // holds what was read from the packet
	verdictRegister = 0 // NFT_REG_VERDICT
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
		&expr.Meta{Key: expr.MetaKeyPROTOCOL, Register: register},
		&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: binary.BigEndian.AppendUint16(nil, t)},
	}
}

// l4proto compares the protocol above IP, behind any IPv6 extension header.
func l4proto(p byte) match {
	return match{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: register},
		&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: []byte{p}},
	}
}

func notL4proto(p byte) match {
	return match{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: register},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: register, Data: []byte{p}},
	}
}

// field is a place in a packet.
type field struct {
	base        expr.PayloadBase
	offset, len uint32
}

func (f field) load() match {
	return match{&expr.Payload{OperationType: expr.PayloadLoad, DestRegister: register, Base: f.base, Offset: f.offset, Len: f.len}}
}

func (f field) is(op expr.CmpOp, value ...byte) match {
	return append(f.load(), &expr.Cmp{Op: op, Register: register, Data: value})
}

// The fields that the fence looks at. A network header is an ARP packet's start as well (RFC 826, RFC 791, RFC 8200, RFC 4861, RFC 9568).
var (
	etherSource    = field{expr.PayloadBaseLLHeader, 6, 6}
	arpOperation   = field{expr.PayloadBaseNetworkHeader, 6, 2}
	arpSender      = field{expr.PayloadBaseNetworkHeader, 14, 4}
	arpTarget      = field{expr.PayloadBaseNetworkHeader, 24, 4}
	ip4Source      = field{expr.PayloadBaseNetworkHeader, 12, 4}
	ip4Dest        = field{expr.PayloadBaseNetworkHeader, 16, 4}
	ip6Source      = field{expr.PayloadBaseNetworkHeader, 8, 16}
	ip6Dest        = field{expr.PayloadBaseNetworkHeader, 24, 16}
	icmp6Type      = field{expr.PayloadBaseTransportHeader, 0, 1}
	ndTarget       = field{expr.PayloadBaseTransportHeader, 8, 16}
	tcpFlags       = field{expr.PayloadBaseTransportHeader, 13, 1}
	advertVRID     = field{expr.PayloadBaseTransportHeader, 1, 1}
	advertPriority = field{expr.PayloadBaseTransportHeader, 2, 1}
)

// judge ends the rule unless what was loaded is an address of the map, and goes on in the chain of the group that has it.
func judge(addresses string) match {
	return match{&expr.Lookup{SourceRegister: register, DestRegister: verdictRegister, IsDestRegSet: true, SetName: addresses}}
}

// way is the direction in which a frame passes the link.
type way expr.MetaKey

const (
	incoming = way(expr.MetaKeyIIF)
	outgoing = way(expr.MetaKeyOIF)
)

// The timed sets of a group have room for one element, the link itself: its index is the one thing that every frame of either way has in it,
// so that a rule can ask whether the time is over. A frame of the other way has no such index and is in none.
func (w way) load() match {
	return match{&expr.Meta{Key: expr.MetaKey(w), Register: register}}
}

func (w way) in(set string) match {
	return append(w.load(), &expr.Lookup{SourceRegister: register, SetName: set})
}

func (w way) notIn(set string) match {
	return append(w.load(), &expr.Lookup{SourceRegister: register, SetName: set, Invert: true})
}

// renew puts the link into a timed set, or starts its time there again.
func (w way) renew(set string, timeout time.Duration) match {
	return append(w.load(),
		&expr.Dynset{SrcRegKey: register, SetName: set, Operation: uint32(unix.NFT_DYNSET_OP_UPDATE), Timeout: timeout})
}

// sourceLocal asks the kernel whether the packet's source is one of its own addresses (CmpOpEq), or none (CmpOpNeq).
func sourceLocal(op expr.CmpOp) match {
	return match{
		&expr.Fib{Register: register, FlagSADDR: true, ResultADDRTYPE: true},
		&expr.Cmp{Op: op, Register: register, Data: binary.NativeEndian.AppendUint32(nil, unix.RTN_LOCAL)},
	}
}

// destLocal asks the kernel whether the packet's destination is one of its own addresses.
func destLocal() match {
	return match{
		&expr.Fib{Register: register, FlagDADDR: true, ResultADDRTYPE: true},
		&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: binary.NativeEndian.AppendUint32(nil, unix.RTN_LOCAL)},
	}
}

func icmp6(kind byte) match { return and(l4proto(icmpv6), icmp6Type.is(expr.CmpOpEq, kind)) }

// tcpReset ends the rule unless the packet says that a connection has ended (RFC 9293 section 3.1: RST).
func tcpReset() match {
	const rst = 0x04
	return and(l4proto(unix.IPPROTO_TCP), tcpFlags.load(), match{
		&expr.Bitwise{SourceRegister: register, DestRegister: register, Len: 1, Mask: []byte{rst}, Xor: []byte{0}},
		&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: []byte{rst}},
	})
}

func verdict(kind expr.VerdictKind, chain string) match {
	return match{&expr.Verdict{Kind: kind, Chain: chain}}
}

func drop() match             { return verdict(expr.VerdictDrop, "") }
func jump(chain string) match { return verdict(expr.VerdictJump, chain) }
