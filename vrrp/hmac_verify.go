package vrrp

import (
	"crypto/hmac"
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/internal/replay"
)

// maxWindow bounds how far the clocks of members may differ.
const maxWindow = time.Hour

// Verifier reads authenticated advertisements. It remembers each sender's last sequence, so one Verifier serves all that
// a process receives. It is not safe for concurrent use. [replay.Window] says what is refused as stale or as a replay.
type Verifier struct {
	clock  *replay.Clock
	keys   map[uint8]Key
	window time.Duration
	heard  *replay.Window[sender]
}

// sender has its own sequence. Only the holders of a key can add one.
type sender struct {
	source netip.Addr // with its zone, if it has one
	vrid   uint8
}

// NewVerifier returns a Verifier that accepts any of keys, in what was made within window (up to an hour) of clock's time. The error names the key or the window that is wrong.
func NewVerifier(keys []Key, window time.Duration, clock *replay.Clock) (*Verifier, error) {
	v := &Verifier{clock: clock, heard: replay.NewWindow[sender](window)}
	if err := v.Set(keys, window); err != nil {
		return nil, err
	}
	return v, nil
}

// Set changes the keys and the window; what is known of the senders remains. With an error nothing has changed.
func (v *Verifier) Set(keys []Key, window time.Duration) error {
	if window <= 0 || window > maxWindow {
		return fmt.Errorf("vrrp: time window %v, want more than 0s and at most %v", window, maxWindow)
	}
	byID := map[uint8]Key{}
	for _, key := range keys {
		if err := key.Validate(); err != nil {
			return err
		}
		if _, ok := byID[key.ID]; ok {
			return fmt.Errorf("vrrp: key id %d is there twice, want each once", key.ID)
		}
		byID[key.ID] = key.clone()
	}
	v.keys, v.window = byID, window
	v.heard.SetWidth(window)
	return nil
}

// Signed reports whether b has the length of an advertisement with a trailer. It does not say whether the trailer is
// right.
func Signed(b []byte, src, dst netip.Addr) bool {
	end, err := checkHeader(b, src, dst)
	return err == nil && len(b) == end+trailerLen
}

// Parse is as the function [Parse], for advertisements with a trailer. It checks structure, key, authentication
// code, sequence and time, in this order, and then what Parse checks. A zone of src tells senders apart; at is when the packet arrived.
// The error is always a *PacketError; a packet that is refused leaves no trace.
func (v *Verifier) Parse(b []byte, src, dst netip.Addr, at time.Time) (Advertisement, ChecksumForm, error) {
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
	message, trailer := b[:end], b[end:]
	if err := v.verify(message, trailer, src); err != nil {
		return Advertisement{}, 0, err
	}
	from, packet := sender{src, message[1]}, v.packet(trailer, at)
	if err := v.judge(from, packet); err != nil {
		return Advertisement{}, 0, err
	}
	form, err := matchSigned(b, end, src, dst)
	if err != nil {
		return Advertisement{}, 0, err
	}
	a, err := parseMessage(message, src.BitLen()/8)
	if err != nil {
		return Advertisement{}, 0, err
	}
	v.heard.Note(from, packet)
	return a, form, nil
}

// verify checks the trailer's key and code.
func (v *Verifier) verify(message, trailer []byte, src netip.Addr) error {
	if trailer[0] != trailerType {
		return &PacketError{Reason: RejectAuth, Got: int(trailer[0]), Want: trailerType}
	}
	key, ok := v.keys[trailer[1]]
	if !ok {
		return &PacketError{Reason: RejectKey, Got: int(trailer[1])}
	}
	want := key.mac(message, trailer[:trailerFixed], src)
	if !hmac.Equal(want[:], trailer[trailerFixed:]) {
		return &PacketError{Reason: RejectMAC}
	}
	return nil
}

func (v *Verifier) packet(trailer []byte, at time.Time) replay.Packet {
	number := sequence(binary.BigEndian.Uint64(trailer[4:]))
	return replay.Packet{Sequence: uint64(number), Made: number.time(), At: at, Clock: v.clock.At(at)}
}

func (v *Verifier) judge(from sender, p replay.Packet) error {
	switch verdict, by := v.heard.Judge(from, p); verdict {
	case replay.Repeated:
		return &PacketError{Reason: RejectReplay, Got: seconds(by)}
	case replay.Stale:
		return &PacketError{Reason: RejectStale, Got: seconds(by), Want: seconds(v.window)}
	}
	return nil
}

func seconds(d time.Duration) int { return int(d / time.Second) }

// ParseUnverified reads an advertisement with a trailer, or without one, and does not look at the trailer. It is for
// nodes that do not insist on authentication while a key is being introduced. The error is always a *PacketError.
func ParseUnverified(b []byte, src, dst netip.Addr) (Advertisement, ChecksumForm, error) {
	if !Signed(b, src, dst) {
		return Parse(b, src, dst)
	}
	end := len(b) - trailerLen
	form, err := matchSigned(b, end, src, dst)
	if err != nil {
		return Advertisement{}, 0, err
	}
	a, err := parseMessage(b[:end], src.BitLen()/8)
	return a, form, err
}

// matchSigned checks the checksum, which over IPv6 covers the trailer as well when the sender's kernel has computed it.
func matchSigned(b []byte, end int, src, dst netip.Addr) (ChecksumForm, error) {
	if src.Is6() && fold(sum(pseudo(src, dst, len(b)), b)) == 0xffff {
		return PseudoHeader, nil
	}
	return matchChecksum(b[:end], b[0]>>4, src, dst)
}
