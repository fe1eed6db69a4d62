// Package checksum is the checksum of the Internet (RFC 1071).
package checksum

import "encoding/binary"

// Add adds b to a sum as big-endian 16-bit words. An odd octet at its end is padded with a zero. 128 KiB cannot overflow it.
func Add(sum uint32, b []byte) uint32 {
	for ; len(b) >= 2; b = b[2:] {
		sum += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) > 0 {
		sum += uint32(b[0]) << 8
	}
	return sum
}

// Fold reduces a sum to 16 bits with end-around carry. Its complement is the checksum; over what has its checksum in it, it is 0xffff.
func Fold(sum uint32) uint16 {
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return uint16(sum)
}
