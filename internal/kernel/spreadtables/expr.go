package spreadtables

import (
	"encoding/binary"

	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Registers of four bytes, of which a field takes as many as it needs. The first hold a key that is looked up, or what is hashed.
const (
	register        = unix.NFT_REG32_00
	slotRegister    = unix.NFT_REG32_08
	addressRegister = unix.NFT_REG32_08 // in place of the slot, once that was looked up
	otherRegister   = unix.NFT_REG32_12
	verdictRegister = unix.NFT_REG_VERDICT
)

// field is a place in a packet.
type field struct {
	base        expr.PayloadBase
	offset, len uint32
}

func network(offset, len uint32) field { return field{expr.PayloadBaseNetworkHeader, offset, len} }

func transport(offset, len uint32) field { return field{expr.PayloadBaseTransportHeader, offset, len} }

func (f field) to(register uint32) match {
	return run(&expr.Payload{OperationType: expr.PayloadLoad, DestRegister: register, Base: f.base, Offset: f.offset, Len: f.len})
}

func (f field) is(value ...byte) match { return and(f.to(register), compare(expr.CmpOpEq, value...)) }

// has compares those bits of a field that are in the mask, which is as long as the field.
func (f field) has(op expr.CmpOp, mask, value []byte) match {
	return and(f.to(register), masked(mask), compare(op, value...))
}

// change writes a field of two bytes: what is in keep stays, and what is in bits is turned over. The checksum follows.
func (f field) change(keep, bits []byte, checksum expr.Payload) match {
	write := checksum
	write.OperationType, write.SourceRegister = expr.PayloadWrite, register
	write.Base, write.Offset, write.Len = f.base, f.offset, f.len
	return and(f.to(register),
		run(&expr.Bitwise{SourceRegister: register, DestRegister: register, Len: f.len, Mask: keep, Xor: bits}), run(&write))
}

func masked(mask []byte) match {
	return run(&expr.Bitwise{SourceRegister: register, DestRegister: register, Len: uint32(len(mask)), Mask: mask, Xor: make([]byte, len(mask))})
}

func compare(op expr.CmpOp, value ...byte) match {
	return run(&expr.Cmp{Op: op, Register: register, Data: value})
}

func meta(key expr.MetaKey, register uint32) match {
	return run(&expr.Meta{Key: key, Register: register})
}

func metaIs(key expr.MetaKey, value ...byte) match {
	return and(meta(key, register), compare(expr.CmpOpEq, value...))
}

func native(n uint32) []byte      { return binary.NativeEndian.AppendUint32(nil, n) }
func nativeShort(n uint16) []byte { return binary.NativeEndian.AppendUint16(nil, n) }
func big(n uint16) []byte         { return binary.BigEndian.AppendUint16(nil, n) }

func protocol(p byte) match { return metaIs(expr.MetaKeyL4PROTO, p) }

// comesIn compares the link of a packet that comes in.
func comesIn(op expr.CmpOp, index int) match {
	return and(meta(expr.MetaKeyIIF, register), compare(op, native(uint32(index))...))
}

// forUs ends the rule unless the frame was sent to this host alone: what is sent to everybody, each member would send on, or answer.
func forUs() match { return metaIs(expr.MetaKeyPKTTYPE, unix.PACKET_HOST) }

// in ends the rule unless what is in the registers is an element of a set.
func in(set string) match { return run(&expr.Lookup{SourceRegister: register, SetName: set}) }

// state compares the state of the packet's connection: one of these, or with CmpOpEq none of them.
func state(op expr.CmpOp, states uint32) match {
	return and(run(&expr.Ct{Key: expr.CtKeySTATE, Register: register}), masked(native(states)), compare(op, native(0)...))
}

// fromMember ends the rule unless the frame's source is in the set of MACs of members. The first part is for nft, which otherwise lists it
// as bytes without a meaning.
func fromMember() match {
	return and(metaIs(expr.MetaKeyIIFTYPE, nativeShort(unix.ARPHRD_ETHER)...), macSource.to(register), in(setMembers))
}

var (
	macSource = field{expr.PayloadBaseLLHeader, 6, 6}
	etherType = field{expr.PayloadBaseLLHeader, 12, 2}
)

// hash makes the slot of what is in the first registers.
func hash(length, slots, seed uint32) match {
	return run(&expr.Hash{SourceRegister: register, DestRegister: slotRegister, Length: length, Modulus: slots, Seed: seed, Type: expr.HashTypeJenkins})
}

// owner ends the rule unless another node owns the slot, and loads its address.
func owner(owners string) match {
	return run(&expr.Lookup{SourceRegister: slotRegister, DestRegister: addressRegister, IsDestRegSet: true, SetName: owners})
}

// following ends the rule unless there is an element for the link, and loads its address.
func following(next string) match {
	return append(meta(expr.MetaKeyIIF, register), run(&expr.Lookup{SourceRegister: register, DestRegister: addressRegister, IsDestRegSet: true, SetName: next})...)
}

// goOn ends the rule unless the slot is in a map of verdicts, and goes on where that says.
func goOn(verdicts string) match {
	return run(&expr.Lookup{SourceRegister: slotRegister, DestRegister: verdictRegister, IsDestRegSet: true, SetName: verdicts})
}

func immediate(register uint32, data []byte) match {
	return run(&expr.Immediate{Register: register, Data: data})
}

// copyTo sends a copy of the packet to the host whose address was loaded, through the link. The kernel takes one off its TTL and does not look
// what is left: see hopsLeft.
func copyTo(index int) match {
	return and(immediate(otherRegister, native(uint32(index))),
		run(&expr.Dup{RegAddr: addressRegister, RegDev: otherRegister, IsRegDevSet: true}))
}

// translate gives the connection another destination, or another source: the address that was loaded, and with a port also that.
func translate(kind expr.NATType, family byte, port uint16) match {
	nat := &expr.NAT{Type: kind, Family: uint32(family), RegAddrMin: addressRegister}
	if port == 0 {
		return run(nat)
	}
	nat.RegProtoMin, nat.Specified = otherRegister, true
	return and(immediate(otherRegister, big(port)), run(nat))
}

// local ends the rule unless the packet's destination is an address of this node.
func local() match {
	return and(run(&expr.Fib{Register: register, FlagDADDR: true, ResultADDRTYPE: true}), compare(expr.CmpOpEq, native(unix.RTN_LOCAL)...))
}

// ownSocket ends the rule unless a socket has the packet's destination for its own address: that of a connection, or one that listens there alone.
// One that listens on all addresses has none.
func ownSocket() match {
	return and(run(&expr.Socket{Key: expr.SocketKeyWildcard, Register: register}), compare(expr.CmpOpEq, 0))
}

func verdict(kind expr.VerdictKind) match { return run(&expr.Verdict{Kind: kind}) }
func goTo(chain string) match {
	return run(&expr.Verdict{Kind: expr.VerdictGoto, Chain: chain})
}

func accept() match { return verdict(expr.VerdictAccept) }
func drop() match   { return verdict(expr.VerdictDrop) }

// original loads what the first packet of the connection had: the ct expression with a direction, which the library adds to older keys alone.
type original struct{ key, register uint32 }

// NFT_CT_DST_IP and NFT_CT_DST_IP6.
const (
	originalDest4 = 20
	originalDest6 = 22
)

func (o original) Encode(byte) ([]byte, error) {
	return encode("ct", func(ae *netlink.AttributeEncoder) {
		ae.Uint32(unix.NFTA_CT_KEY, o.key)
		ae.Uint32(unix.NFTA_CT_DREG, o.register)
		ae.Uint8(unix.NFTA_CT_DIRECTION, 0)
	})
}

// forward sends the packet itself to the host whose address was loaded, through the link, as a router would: with the MAC of that host,
// and a TTL that is one less. It is the fwd expression of the netdev family, which the nftables library does not have.
type forward struct{ family byte }

// NFTA_FWD_SREG_ADDR and NFTA_FWD_NFPROTO.
const (
	fwdAddress = 2
	fwdFamily  = 3
)

// forwardTo is what `fwd ip to ADDRESS device LINK` is in nft.
func forwardTo(family byte, index int) match {
	return append(immediate(otherRegister, native(uint32(index))), forward{family})
}

func (f forward) Encode(byte) ([]byte, error) {
	return encode("fwd", func(ae *netlink.AttributeEncoder) {
		ae.Uint32(unix.NFTA_FWD_SREG_DEV, otherRegister)
		ae.Uint32(fwdAddress, addressRegister)
		ae.Uint32(fwdFamily, uint32(f.family))
	})
}

// encode makes an expression that the library does not.
func encode(name string, data func(*netlink.AttributeEncoder)) ([]byte, error) {
	ae := netlink.NewAttributeEncoder()
	ae.ByteOrder = binary.BigEndian
	ae.String(unix.NFTA_EXPR_NAME, name)
	ae.Nested(unix.NFTA_EXPR_DATA, func(ae *netlink.AttributeEncoder) error {
		data(ae)
		return nil
	})
	return ae.Encode()
}
