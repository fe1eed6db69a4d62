package vrrp

import (
	"encoding/binary"
	"net/netip"
	"time"
)

// Parse reads one advertisement from b, the whole payload of an IP packet from src to dst, and says which form of
// checksum it had. It makes the checks of RFC 9568, section 7.1, that need no configuration, and believes nothing
// before the length and the checksum are right; the length must be exact. The error is always a *PacketError.
//
// The time to live and the configured VRID are the socket's matter, what depends on the configuration is
// [Config.Match]'s. The reserved bits of version 3 are ignored. The result shares no memory with b.
func Parse(b []byte, src, dst netip.Addr) (Advertisement, ChecksumForm, error) {
	want, err := checkHeader(b, src, dst)
	if err != nil {
		return Advertisement{}, 0, err
	}
	switch len(b) {
	case want:
	case want + trailerLen:
		return Advertisement{}, 0, &PacketError{Reason: RejectSigned}
	default:
		return Advertisement{}, 0, &PacketError{Reason: RejectLength, Got: len(b), Want: want}
	}
	form, err := matchChecksum(b, b[0]>>4, src, dst)
	if err != nil {
		return Advertisement{}, 0, err
	}
	a, err := parseMessage(b, src.BitLen()/8)
	return a, form, err
}

// parseMessage reads a message of the right length and checksum.
func parseMessage(b []byte, size int) (Advertisement, error) {
	a := Advertisement{Version: b[0] >> 4, VRID: b[1], Priority: b[2]}
	if a.Version == 2 {
		a.Interval = time.Duration(b[5]) * time.Second
		a.AuthType = b[4]
		copy(a.AuthData[:], b[len(b)-authLen:])
	} else {
		a.Interval = time.Duration(binary.BigEndian.Uint16(b[4:])&0x0fff) * centisecond
	}
	if err := checkFields(a); err != nil {
		return Advertisement{}, err
	}
	a.Addresses = parseAddrs(b[headerLen:], int(b[3]), size)
	return a, nil
}

// checkHeader checks what the fixed header says about the shape of the message, and returns its length.
func checkHeader(b []byte, src, dst netip.Addr) (int, error) {
	if len(b) < headerLen {
		return 0, &PacketError{Reason: RejectLength, Got: len(b), Want: headerLen}
	}
	if src.BitLen() != dst.BitLen() || src.BitLen() == 0 {
		return 0, &PacketError{Reason: RejectFamily, Got: familyOf(dst), Want: familyOf(src)}
	}
	version, size, trailer := b[0]>>4, src.BitLen()/8, 0
	switch {
	case version == 2 && size == 4:
		trailer = authLen
	case version != 3:
		return 0, &PacketError{Reason: RejectVersion, Got: int(version), Want: 3}
	}
	if typ := b[0] & 0x0f; typ != typeAdvert {
		return 0, &PacketError{Reason: RejectType, Got: int(typ), Want: typeAdvert}
	}
	return headerLen + int(b[3])*size + trailer, nil
}

// checkFields checks the values of a packet whose checksum is right.
func checkFields(a Advertisement) error {
	switch {
	case a.VRID == 0:
		return &PacketError{Reason: RejectVRID}
	case a.Interval == 0:
		return &PacketError{Reason: RejectInterval, Want: 1}
	case a.AuthType > AuthPass:
		return &PacketError{Reason: RejectAuth, Got: int(a.AuthType), Want: int(AuthNone)}
	}
	return nil
}

func parseAddrs(b []byte, count, size int) []netip.Addr {
	addrs := make([]netip.Addr, count)
	for i := range addrs {
		// AddrFromSlice would be right for 4 and 16 bytes alike, and size is one of them.
		addrs[i], _ = netip.AddrFromSlice(b[i*size : (i+1)*size])
	}
	return addrs
}

// familyOf returns 4, 6, or 0 for no address.
func familyOf(a netip.Addr) int {
	switch {
	case a.Is4():
		return 4
	case a.Is6():
		return 6
	}
	return 0
}
