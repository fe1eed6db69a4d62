package envelope

import (
	"encoding/binary"

	"github.com/keepvip/keepvip/internal/base/auth"
)

const (
	// Version is the version of the form. A message of another one is refused; what later versions add within the form is skipped.
	Version = 1
	// HeaderLen is the length of what stands before the fields.
	HeaderLen = 24
	// MaxMessage is what fits into one frame on any link; no message is longer.
	MaxMessage = 1200
	// HopLimit is the TTL or hop limit of a packet that no router has forwarded. Messages leave with it.
	HopLimit = 255
	// SourcePort is where members send from, and followers without a key ask from. Its number is that of VRRP's groups.
	// To send from there takes a privilege on the host, CAP_NET_BIND_SERVICE or CAP_NET_RAW, as it takes one to send an
	// advertisement; TTL 255 anybody may set. It is lower than where hosts let users begin that are to run a web or
	// name server.
	SourcePort = 18

	magic = "kpvp"
)

// Header is what stands before the fields.
type Header struct {
	Type     uint8
	Session  uint64 // tells one run of the sender, or one subscription, from the next
	Sequence uint64 // grows with every message of a sender
}

// Append appends the header to b, and the fields that fill appends.
func (h Header) Append(b []byte, fill func(b []byte) []byte) []byte {
	start := len(b)
	b = append(b, magic...)
	b = append(b, Version, h.Type, 0, 0)
	b = binary.BigEndian.AppendUint64(b, h.Session)
	b = binary.BigEndian.AppendUint64(b, h.Sequence)
	b = fill(b)
	binary.BigEndian.PutUint16(b[start+6:], uint16(len(b)-start-HeaderLen))
	return b
}

// Open reads the header of a message whose type is from first to last, and returns where the fields end. An authentication code may be behind them:
// it is not looked at. The error is always a *PacketError.
func Open(b []byte, first, last uint8) (h Header, end int, err error) {
	switch {
	case len(b) < HeaderLen:
		return Header{}, 0, &PacketError{Reason: RejectLength, Got: len(b), Want: HeaderLen}
	case len(b) > MaxMessage:
		return Header{}, 0, &PacketError{Reason: RejectLength, Got: len(b), Want: MaxMessage}
	case string(b[:len(magic)]) != magic:
		return Header{}, 0, &PacketError{Reason: RejectMagic}
	case b[4] != Version:
		return Header{}, 0, &PacketError{Reason: RejectVersion, Got: int(b[4]), Want: Version}
	}
	end = HeaderLen + int(binary.BigEndian.Uint16(b[6:]))
	switch {
	case len(b) != end && len(b) != end+auth.TrailerLen:
		return Header{}, 0, &PacketError{Reason: RejectLength, Got: len(b), Want: end}
	case b[5] < first || b[5] > last:
		return Header{}, 0, &PacketError{Reason: RejectType, Got: int(b[5]), Want: int(first)}
	}
	return Header{Type: b[5], Session: binary.BigEndian.Uint64(b[8:]), Sequence: binary.BigEndian.Uint64(b[16:])}, end, nil
}

// Is tells whether b may be a message whose type is from first to last. It says nothing about its version and its contents.
func Is(b []byte, first, last uint8) bool {
	return len(b) >= HeaderLen && len(b) <= MaxMessage && string(b[:len(magic)]) == magic && b[5] >= first && b[5] <= last
}

// AppendField appends one field. A value has at most 255 bytes.
func AppendField[F ~uint8](b []byte, f F, value []byte) []byte {
	b = append(b, uint8(f), uint8(len(value)))
	return append(b, value...)
}

// Fields gives the fields to take, one after the other, until it returns an error. The error is take's, or a *PacketError.
func Fields(b []byte, take func(f uint8, value []byte) error) error {
	for len(b) > 0 {
		if len(b) < 2 || len(b)-2 < int(b[1]) {
			return &PacketError{Reason: RejectLength, Got: len(b)}
		}
		value := b[2 : 2+int(b[1])]
		if err := take(b[0], value); err != nil {
			return err
		}
		b = b[2+len(value):]
	}
	return nil
}
