package vrrp

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/internal/base/auth"
	"github.com/keepvip/keepvip/internal/base/checksum"
)

// The trailer of draft-cassen-vrrp-auth-hmac, which follows the VRRP message:
//
//	type (1)   key id   reserved (2)
//	seconds (4)
//	fraction (2)        counter (2)
//	the first 16 bytes of HMAC-SHA-256
const (
	trailerLen   = 28
	trailerType  = 1
	macLen       = 16
	trailerFixed = trailerLen - macLen
)

// NewKey makes a key of a shared secret of 32 to 64 random bytes. id tells keys apart while they are being changed.
func NewKey(id uint8, secret []byte) auth.Key {
	return auth.Key{ID: string([]byte{id}), Secret: slices.Clone(secret)}
}

// covered is what a trailer authenticates: a message and the fixed part of the trailer. It covers the source address, which the
// network could change, and not the checksum, which depends on it.
func covered(message, fixed []byte, src netip.Addr) [][]byte {
	head := make([]byte, 20)
	head[0], head[1], head[2] = uint8(familyOf(src)), message[0]>>4, message[1]
	copy(head[4:], src.AsSlice())
	return [][]byte{head, message[:6], {0, 0}, message[headerLen:], fixed, make([]byte, macLen)}
}

// Auth signs and verifies the advertisements of all Virtual Routers of a process, with [NewKey]'s keys. A nil Auth, like one
// without keys, does neither. Safe for concurrent use; whoever verifies does not hold up whoever signs.
type Auth struct{ *auth.Keyring[sender] }

// sender has its own sequence. Only the holders of a key can add one.
type sender struct {
	source netip.Addr // with its zone, if it has one
	vrid   uint8
}

// NewAuth makes an Auth without keys, whose sequence numbers are clock's.
func NewAuth(clock *auth.Clock) *Auth { return &Auth{auth.NewKeyring[sender](clock)} }

// Append appends an advertisement, and its trailer if there is a key, to b: as [Advertisement.Append], and with the same errors.
// Over IPv6 the checksum covers the trailer, over IPv4 it does not.
func (a *Auth) Append(b []byte, adv Advertisement, src, dst netip.Addr, form ChecksumForm, now time.Time) ([]byte, error) {
	start := len(b)
	b, err := adv.Append(b, src, dst, form)
	if err != nil || a == nil {
		return b, err
	}
	key, sequence := a.Next(now, sequenceOf)
	if key == nil {
		return b, nil
	}
	end := len(b)
	b = append(b, trailerType, key.ID[0], 0, 0)
	b = binary.BigEndian.AppendUint64(b, sequence)
	b = append(b, key.Sum(covered(b[start:end], b[end:], src)...)[:macLen]...)
	if src.Is6() {
		whole := b[start:]
		whole[6], whole[7] = 0, 0
		binary.BigEndian.PutUint16(whole[6:], ^checksum.Fold(checksum.Add(pseudo(src, dst, len(whole)), whole)))
	}
	return b, nil
}

// Parse is as the function [Parse], but verifies before anything else is believed, if there is a key. It checks structure, key,
// authentication code, sequence and time, in this order, and then what that function checks. A zone of src tells senders apart;
// at is when the packet arrived. doubt is why an advertisement that is taken would be refused if the mode were [auth.Enforce].
// Both errors are always a *PacketError; a packet that is refused leaves no trace.
func (a *Auth) Parse(b []byte, src, dst netip.Addr, at time.Time) (adv Advertisement, doubt, err error) {
	if a == nil || len(a.Config().Keys) == 0 {
		adv, _, err = Parse(b, src, dst)
		return adv, nil, err
	}
	mode := a.Config().Mode
	if adv, _, err = a.verify(b, src, dst, at); err == nil || mode == auth.Enforce {
		return adv, nil, err
	}
	var refused *PacketError
	if mode == auth.Permissive || errors.As(err, &refused) && refused.Reason != RejectUnsigned {
		doubt = err
	}
	adv, _, err = parseUnverified(b, src, dst)
	return adv, doubt, err
}

func (a *Auth) verify(b []byte, src, dst netip.Addr, at time.Time) (Advertisement, ChecksumForm, error) {
	end, err := checkHeader(b, src, dst)
	if err != nil {
		return Advertisement{}, 0, err
	}
	switch {
	case len(b) == end:
		return Advertisement{}, 0, &PacketError{Reason: RejectUnsigned}
	case len(b) != end+trailerLen:
		return Advertisement{}, 0, &PacketError{Reason: RejectLength, Got: len(b), Want: end + trailerLen}
	}
	if err := a.genuine(b[:end], b[end:], src); err != nil {
		return Advertisement{}, 0, err
	}
	adv, form, malformed := parseSigned(b, end, src, dst)
	if err := a.fresh(sender{src, b[1]}, b[end:], at, malformed == nil); err != nil {
		return Advertisement{}, 0, err
	}
	return adv, form, malformed
}

// genuine checks the trailer's key and code.
func (a *Auth) genuine(message, trailer []byte, src netip.Addr) error {
	if trailer[0] != trailerType {
		return &PacketError{Reason: RejectAuth, Got: int(trailer[0]), Want: trailerType}
	}
	switch a.Genuine(trailer[1:2], trailer[trailerFixed:], covered(message, trailer[:trailerFixed], src)...) {
	case auth.UnknownKey:
		return &PacketError{Reason: RejectKey, Got: int(trailer[1])}
	case auth.Forged:
		return &PacketError{Reason: RejectMAC}
	}
	return nil
}

// fresh refuses what was heard before, or could have been.
func (a *Auth) fresh(from sender, trailer []byte, at time.Time, wellFormed bool) error {
	sequence := binary.BigEndian.Uint64(trailer[4:])
	switch verdict, by := a.Judge(from, sequence, timeOf(sequence), at, wellFormed); verdict {
	case auth.Repeated:
		return &PacketError{Reason: RejectReplay, Got: seconds(by)}
	case auth.Stale:
		return &PacketError{Reason: RejectStale, Got: seconds(by), Want: seconds(a.Config().Window)}
	}
	return nil
}

func seconds(d time.Duration) int { return int(d / time.Second) }

// sequenceOf is a number that orders the signed advertisements of one sender: 32 bits of Unix seconds, 16 bits of their fraction,
// and a 16-bit counter for those of one instant.
func sequenceOf(t time.Time) uint64 {
	fraction := uint64(t.Nanosecond()) << 16 / uint64(time.Second)
	return uint64(uint32(t.Unix()))<<32 | fraction<<16
}

// timeOf is the instant of a sequence number, to 15 us.
func timeOf(sequence uint64) time.Time {
	nanoseconds := int64(sequence>>16&0xffff) * int64(time.Second) >> 16
	return time.Unix(int64(sequence>>32), nanoseconds)
}

// parseUnverified reads an advertisement with a trailer, or without one, and does not look at the trailer. It is for nodes that do
// not demand authentication while a key is being introduced.
func parseUnverified(b []byte, src, dst netip.Addr) (Advertisement, ChecksumForm, error) {
	if end, err := checkHeader(b, src, dst); err == nil && len(b) == end+trailerLen {
		return parseSigned(b, end, src, dst)
	}
	return Parse(b, src, dst)
}

// parseSigned reads the message that ends at end. Over IPv6 its checksum covers the trailer as well when the sender's kernel has
// computed it.
func parseSigned(b []byte, end int, src, dst netip.Addr) (Advertisement, ChecksumForm, error) {
	form := PseudoHeader
	if !src.Is6() || checksum.Fold(checksum.Add(pseudo(src, dst, len(b)), b)) != 0xffff {
		var err error
		if form, err = matchChecksum(b[:end], b[0]>>4, src, dst); err != nil {
			return Advertisement{}, 0, err
		}
	}
	adv, err := parseMessage(b[:end], src.BitLen()/8)
	return adv, form, err
}

// ParseUnverified reads one advertisement as [Parse] does, with a trailer or without one, which it does not look at. What it says is for an
// operator to read: the sender can be anybody. The error is always a *PacketError.
func ParseUnverified(b []byte, src, dst netip.Addr) (Advertisement, error) {
	adv, _, err := parseUnverified(b, src, dst)
	return adv, err
}
