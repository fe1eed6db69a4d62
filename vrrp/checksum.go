package vrrp

import (
	"encoding/binary"
	"net/netip"
	"strconv"

	"github.com/keepvip/keepvip/internal/base/checksum"
)

// ChecksumForm says what the checksum of a VRRPv3 advertisement over IPv4 covers. The standards changed here and
// implementations differ. IPv6 always uses the pseudo-header, VRRPv2 never.
type ChecksumForm uint8

const (
	// PseudoHeader covers an IPv4 pseudo-header and the message, as keepalived and FRR send it by default.
	PseudoHeader ChecksumForm = iota
	// MessageOnly covers the message alone (RFC 9568, section 5.2.8).
	MessageOnly
	// MulticastPseudoHeader is a unicast advertisement whose pseudo-header has the multicast group as its
	// destination, as keepalived before 1.3.6 sent it.
	MulticastPseudoHeader
)

// String returns "pseudo-header", "message-only" or "multicast-pseudo-header".
func (f ChecksumForm) String() string {
	switch f {
	case PseudoHeader:
		return "pseudo-header"
	case MessageOnly:
		return "message-only"
	case MulticastPseudoHeader:
		return "multicast-pseudo-header"
	}
	return "checksumform(" + strconv.Itoa(int(f)) + ")"
}

const protocolNumber = 112 // IANA's number for VRRP, both families

// The multicast groups of RFC 9568, sections 5.1.1.2 and 5.1.2.2.
var (
	group4 = netip.AddrFrom4([4]byte{224, 0, 0, 18})
	group6 = netip.AddrFrom16([16]byte{0: 0xff, 1: 0x02, 15: 0x12})
)

// MulticastGroup is the group of an address family: 224.0.0.18 or ff02::12 (RFC 9568, sections 5.1.1.2 and 5.1.2.2). A Conn may have another.
func MulticastGroup(v4 bool) netip.Addr {
	if v4 {
		return group4
	}
	return group6
}

func sumAddr(acc uint32, a netip.Addr) uint32 {
	if a.Is4() {
		b := a.As4()
		return checksum.Add(acc, b[:])
	}
	b := a.As16()
	return checksum.Add(acc, b[:])
}

// pseudo sums the pseudo-header of either family: the two layouts hold the same words in another order.
func pseudo(src, dst netip.Addr, length int) uint32 {
	return sumAddr(sumAddr(protocolNumber+uint32(length), src), dst)
}

// headerSum is what a form adds to the sum of the message.
func headerSum(form ChecksumForm, src, dst netip.Addr, length int) uint32 {
	switch form {
	case MessageOnly:
		return 0
	case MulticastPseudoHeader:
		return pseudo(src, MulticastGroup(src.Is4()), length)
	default:
		return pseudo(src, dst, length)
	}
}

// checksumForms lists the forms a receiver accepts, the usual one first.
func checksumForms(version uint8, src, dst netip.Addr) []ChecksumForm {
	switch {
	case version == 2:
		return []ChecksumForm{MessageOnly}
	case src.Is6():
		return []ChecksumForm{PseudoHeader}
	case dst.IsMulticast():
		return []ChecksumForm{PseudoHeader, MessageOnly}
	default:
		return []ChecksumForm{PseudoHeader, MessageOnly, MulticastPseudoHeader}
	}
}

// matchChecksum returns the form under which the checksum inside b is right.
func matchChecksum(b []byte, version uint8, src, dst netip.Addr) (ChecksumForm, error) {
	forms := checksumForms(version, src, dst)
	message := checksum.Add(0, b)
	for _, form := range forms {
		if checksum.Fold(message+headerSum(form, src, dst, len(b))) == 0xffff {
			return form, nil
		}
	}
	got := binary.BigEndian.Uint16(b[6:])
	want := ^checksum.Fold(message + headerSum(forms[0], src, dst, len(b)) + uint32(^got))
	return 0, &PacketError{Reason: RejectChecksum, Got: int(got), Want: int(want)}
}
