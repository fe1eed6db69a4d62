package vrrp

import (
	"crypto/hmac"
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"
)

// maxWindow bounds how far the clocks of members may differ.
const maxWindow = time.Hour

// Verifier reads authenticated advertisements. It remembers each sender's last sequence, so one Verifier serves all that
// a process receives. It is not safe for concurrent use.
//
// A sender that is not known yet must have a time within the window of ours: it bounds how old a captured advertisement
// may be that is played to a node which has just started. From a sender that is known only a growing sequence is
// wanted, whatever its time: a node whose clock was stepped, or that was paused, remains a member.
type Verifier struct {
	clock  *Clock
	keys   map[uint8]Key
	window time.Duration
	last   map[sender]stamp
}

// sender has its own sequence. Only the holders of a key can add one.
type sender struct {
	source netip.Addr // with its zone, if it has one
	vrid   uint8
}

// NewVerifier returns a Verifier that accepts any of keys, from new senders whose time is within window (up to an hour)
// of clock's. The error names the key or the window that is wrong.
func NewVerifier(keys []Key, window time.Duration, clock *Clock) (*Verifier, error) {
	v := &Verifier{clock: clock, last: map[sender]stamp{}}
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
	return nil
}

// Signed reports whether b has the length of an advertisement with a trailer. It does not say whether the trailer is
// right.
func Signed(b []byte, src, dst netip.Addr) bool {
	end, err := checkHeader(b, src, dst)
	return err == nil && len(b) == end+trailerLen
}

// Parse is as the function [Parse], for advertisements with a trailer. It checks structure, key, a new sender's time,
// authentication code and sequence, in this order, and then what Parse checks. A zone of src tells senders apart. The error is always a *PacketError; a packet that is
// refused leaves no trace.
func (v *Verifier) Parse(b []byte, src, dst netip.Addr, now time.Time) (Advertisement, ChecksumForm, error) {
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
	sequence, err := v.verify(message, trailer, src, now)
	if err != nil {
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
	v.last[sender{src, a.VRID}] = sequence
	return a, form, nil
}

// verify checks the trailer and returns its sequence.
func (v *Verifier) verify(message, trailer []byte, src netip.Addr, now time.Time) (stamp, error) {
	if trailer[0] != trailerType {
		return 0, &PacketError{Reason: RejectAuth, Got: int(trailer[0]), Want: trailerType}
	}
	key, ok := v.keys[trailer[1]]
	if !ok {
		return 0, &PacketError{Reason: RejectKey, Got: int(trailer[1])}
	}
	sequence := stamp(binary.BigEndian.Uint64(trailer[4:]))
	last, known := v.last[sender{src, message[1]}]
	if off := sequence.time().Sub(v.clock.at(now)).Abs(); !known && off > v.window {
		return 0, &PacketError{Reason: RejectStale, Got: seconds(off), Want: seconds(v.window)}
	}
	want := key.mac(message, trailer[:trailerFixed], src)
	if !hmac.Equal(want[:], trailer[trailerFixed:]) {
		return 0, &PacketError{Reason: RejectMAC}
	}
	if known && sequence <= last {
		return 0, &PacketError{Reason: RejectReplay, Got: seconds(last.time().Sub(sequence.time()))}
	}
	return sequence, nil
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
