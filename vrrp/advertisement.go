package vrrp

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/internal/base/checksum"
)

const (
	headerLen   = 8 // fixed part, both versions
	authLen     = 8 // VRRPv2's trailer, always on the wire
	typeAdvert  = 1 // the only type of either version
	maxAddrs    = 255
	centisecond = 10 * time.Millisecond
	maxInterval = 4095 * centisecond // 12 bits (RFC 9568, section 5.2.7)
)

// VRRPv2 authentication types (RFC 2338, section 5.3.6; RFC 3768 keeps only AuthNone).
const (
	AuthNone uint8 = 0
	AuthPass uint8 = 1 // eight bytes in the clear: keeps configurations apart, gives no security
)

// Advertisement is one VRRP advertisement (RFC 9568, section 5.2; RFC 3768, section 5.3).
type Advertisement struct {
	Version  uint8         // 2 or 3
	VRID     uint8         // 1 to 255
	Priority uint8         // 0: the Active gives up; 255: address owner
	Interval time.Duration // v3: 10 ms to 40.95 s in steps of 10 ms; v2: 1 s to 255 s in whole seconds

	// Addresses are at most 255 addresses, all of the family of the packet that carries them.
	Addresses []netip.Addr

	AuthType uint8   // VRRPv2 only: AuthNone or AuthPass
	AuthData [8]byte // VRRPv2 only: the password, padded with zeros
}

// Append appends a's bytes to b and returns the longer slice: the payload of an IP packet from src to dst. src, dst
// and a.Addresses have one family. form matters for VRRPv3 over IPv4 only. It does not allocate when b has room for
// 24 + 16 x len(a.Addresses) bytes. The error names the field that has no place on the wire; b is then returned as it
// was.
func (a Advertisement) Append(b []byte, src, dst netip.Addr, form ChecksumForm) ([]byte, error) {
	if err := a.validate(); err != nil {
		return b, err
	}
	if err := a.validateFamily(src, dst); err != nil {
		return b, err
	}
	start := len(b)
	b = append(b, a.Version<<4|typeAdvert, a.VRID, a.Priority, uint8(len(a.Addresses)))
	if a.Version == 2 {
		b = append(b, a.AuthType, uint8(a.Interval/time.Second), 0, 0)
	} else {
		b = binary.BigEndian.AppendUint16(b, uint16(a.Interval/centisecond))
		b = append(b, 0, 0)
	}
	for _, addr := range a.Addresses {
		b = appendAddr(b, addr)
	}
	switch {
	case a.Version == 2 && a.AuthType == AuthNone:
		b = append(b, make([]byte, authLen)...)
	case a.Version == 2:
		b = append(b, a.AuthData[:]...)
	}
	message := b[start:]
	header := headerSum(a.wireForm(src, form), src, dst, len(message))
	binary.BigEndian.PutUint16(message[6:], ^checksum.Fold(checksum.Add(header, message)))
	return b, nil
}

// wireForm overrides the wanted checksum form where the version or family leaves no choice.
func (a Advertisement) wireForm(src netip.Addr, form ChecksumForm) ChecksumForm {
	switch {
	case a.Version == 2:
		return MessageOnly
	case src.Is6():
		return PseudoHeader
	default:
		return form
	}
}

func appendAddr(b []byte, addr netip.Addr) []byte {
	if addr.Is4() {
		v4 := addr.As4()
		return append(b, v4[:]...)
	}
	v6 := addr.As16()
	return append(b, v6[:]...)
}

// validate reports the first field that the version's format cannot carry.
func (a Advertisement) validate() error {
	switch {
	case a.Version != 2 && a.Version != 3:
		return fmt.Errorf("vrrp: version %d, want 2 or 3", a.Version)
	case a.VRID == 0:
		return fmt.Errorf("vrrp: VRID 0, want 1 to 255")
	case len(a.Addresses) > maxAddrs:
		return fmt.Errorf("vrrp: %d addresses, want at most %d", len(a.Addresses), maxAddrs)
	case a.Version == 2 && a.AuthType != AuthNone && a.AuthType != AuthPass:
		return fmt.Errorf("vrrp: authentication type %d, want %d (none) or %d (password)", a.AuthType, AuthNone, AuthPass)
	case a.Version == 3 && a.AuthType != AuthNone:
		return fmt.Errorf("vrrp: authentication type %d, want none: only version 2 has it", a.AuthType)
	}
	return validateInterval(a.Version, a.Interval)
}

func validateInterval(version uint8, d time.Duration) error {
	if version == 2 {
		if d < time.Second || d > 255*time.Second || d%time.Second != 0 {
			return fmt.Errorf("vrrp: advertisement interval %v, want 1s to 255s in whole seconds with version 2", d)
		}
		return nil
	}
	if d < centisecond || d > maxInterval || d%centisecond != 0 {
		return fmt.Errorf("vrrp: advertisement interval %v, want 10ms to 40.95s in steps of 10ms", d)
	}
	return nil
}

func (a Advertisement) validateFamily(src, dst netip.Addr) error {
	switch {
	case !src.IsValid() || src.Is4In6():
		return fmt.Errorf("vrrp: source %v, want an IPv4 or IPv6 address", src)
	case dst.BitLen() != src.BitLen() || dst.Is4In6():
		return fmt.Errorf("vrrp: destination %v, want the family of the source %v", dst, src)
	case a.Version == 2 && !src.Is4():
		return fmt.Errorf("vrrp: version 2 over IPv6, want version 3")
	}
	return validateAddresses(a.Addresses, src)
}

// validateAddresses wants every address in like's family (RFC 9568, section 5.2.9).
func validateAddresses(addrs []netip.Addr, like netip.Addr) error {
	for _, addr := range addrs {
		if addr.BitLen() != like.BitLen() || addr.Is4In6() {
			return fmt.Errorf("vrrp: address %v, want the family of the source %v", addr, like)
		}
	}
	return nil
}
