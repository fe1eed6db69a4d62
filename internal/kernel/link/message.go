package link

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// typeMask is NLA_TYPE_MASK: without the nested and byte-order bits.
const typeMask = 0x3fff

// forever is the lifetime that never ends (INFINITY_LIFE_TIME).
const forever = 0xffffffff

// addressMessage is the payload of RTM_NEWADDR for a virtual address.
//
// IPv4 scope is global unless [Handle.ListAs] says otherwise: an address of a narrower scope is listed before the node's own, and is then the
// first that an agent looking for the node's address finds.
func addressMessage(index int, p netip.Prefix, t tag, valid uint32) message {
	flags := uint32(unix.IFA_F_NOPREFIXROUTE)
	if p.Addr().Is6() {
		flags |= unix.IFA_F_NODAD
	}
	msg := bareMessage(index, p)
	msg = attribute(msg, unix.IFA_FLAGS, binary.NativeEndian.AppendUint32(nil, flags))
	// struct ifa_cacheinfo: preferred, valid, created, updated. Preferred is 0, which is deprecated.
	info := binary.NativeEndian.AppendUint32(make([]byte, 4, 16), valid)
	msg = attribute(msg, unix.IFA_CACHEINFO, info[:16])
	return t.append(msg)
}

// message is an address message under construction: a struct ifaddrmsg and its attributes.
type message []byte

// Len and Serialize make it a nl.NetlinkRequestData.
func (m message) Len() int          { return len(m) }
func (m message) Serialize() []byte { return m }

// bareMessage names one address of one interface, which is all that RTM_DELADDR wants.
func bareMessage(index int, p netip.Prefix) message {
	m := message{family(p.Addr().Is6()), byte(p.Bits()), 0, unix.RT_SCOPE_UNIVERSE}
	m = binary.NativeEndian.AppendUint32(m, uint32(index))
	m = attribute(m, unix.IFA_LOCAL, p.Addr().AsSlice())
	return attribute(m, unix.IFA_ADDRESS, p.Addr().AsSlice())
}

// attribute appends one struct rtattr with its value, padded to 4 bytes.
func attribute(m message, kind uint16, value []byte) message {
	m = binary.NativeEndian.AppendUint16(m, uint16(unix.SizeofRtAttr+len(value)))
	m = binary.NativeEndian.AppendUint16(m, kind)
	m = append(m, value...)
	return append(m, make([]byte, -len(value)&3)...)
}

// parseAddress reads the payload of an RTM_NEWADDR message: the interface's index and the address.
func parseAddress(b []byte) (int, Address, error) {
	if len(b) < unix.SizeofIfAddrmsg {
		return 0, Address{}, fmt.Errorf("address message of %d bytes, want %d or more", len(b), unix.SizeofIfAddrmsg)
	}
	bits, flags, index := int(b[1]), uint32(b[2]), int(binary.NativeEndian.Uint32(b[4:]))
	attrs, err := attributes(b[unix.SizeofIfAddrmsg:])
	if err != nil {
		return 0, Address{}, err
	}
	if v := attrs[unix.IFA_FLAGS]; len(v) >= 4 {
		flags = binary.NativeEndian.Uint32(v)
	}
	a := Address{
		Ours:       tagged(attrs),
		Secondary:  flags&unix.IFA_F_SECONDARY != 0,
		Tentative:  flags&unix.IFA_F_TENTATIVE != 0,
		DadFailed:  flags&unix.IFA_F_DADFAILED != 0,
		Deprecated: flags&unix.IFA_F_DEPRECATED != 0,
	}
	if v := attrs[unix.IFA_CACHEINFO]; len(v) >= 8 {
		if s := binary.NativeEndian.Uint32(v[4:]); s != forever {
			// One second at least: what is listed still exists, and 0 says for ever.
			a.Valid = max(time.Duration(s)*time.Second, time.Second)
		}
	}
	a.Prefix, a.Peer, err = endpoints(attrs[unix.IFA_LOCAL], attrs[unix.IFA_ADDRESS], bits)
	return index, a, err
}

// endpoints tells the local address from the peer's. IFA_ADDRESS is the peer if there is one, else the same as IFA_LOCAL; IPv6 leaves
// IFA_LOCAL out unless there is a peer.
func endpoints(local, address []byte, bits int) (netip.Prefix, netip.Addr, error) {
	far, farOK := netip.AddrFromSlice(address)
	near, nearOK := netip.AddrFromSlice(local)
	switch {
	case !nearOK && !farOK:
		return netip.Prefix{}, netip.Addr{}, fmt.Errorf("address message without an address")
	case !nearOK:
		near = far
	}
	p := netip.PrefixFrom(near, bits)
	if !p.IsValid() {
		return netip.Prefix{}, netip.Addr{}, fmt.Errorf("address %s with prefix length %d", near, bits)
	}
	if !farOK || far == near || far.BitLen() != near.BitLen() {
		far = netip.Addr{}
	}
	return p, far, nil
}

// attributes reads a list of struct rtattr; of a repeated one the last counts.
func attributes(b []byte) (map[uint16][]byte, error) {
	attrs := make(map[uint16][]byte)
	err := eachAttribute(b, func(kind uint16, value []byte) { attrs[kind] = value })
	return attrs, err
}

// eachAttribute calls visit for each of a list of struct rtattr.
func eachAttribute(b []byte, visit func(kind uint16, value []byte)) error {
	for len(b) >= unix.SizeofRtAttr {
		n, kind := int(binary.NativeEndian.Uint16(b)), binary.NativeEndian.Uint16(b[2:])
		if n < unix.SizeofRtAttr || n > len(b) {
			return fmt.Errorf("attribute of %d bytes in %d", n, len(b))
		}
		visit(kind&typeMask, b[unix.SizeofRtAttr:n])
		b = b[min((n+3)&^3, len(b)):]
	}
	return nil
}
