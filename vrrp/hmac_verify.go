package vrrp

import (
	"crypto/hmac"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// maxWindow bounds how far the clocks of members may differ.
const maxWindow = time.Hour

// Verifier reads authenticated advertisements. It remembers each sender's last sequence, so one Verifier serves all that
// is received on a socket. It is not safe for concurrent use.
type Verifier struct {
	keys   map[uint8]Key
	window time.Duration
	clock  steady
	last   map[sender]stamp
}

// sender has its own sequence. Only the holders of a key can add one.
type sender struct {
	source netip.Addr
	vrid   uint8
}

// NewVerifier returns a Verifier that accepts any of keys, from senders whose time is within window (up to an hour) of
// ours. now, from time.Now, is when the wall clock is read. The error names the key or the window that is wrong.
func NewVerifier(keys []Key, window time.Duration, now time.Time) (*Verifier, error) {
	if window <= 0 || window > maxWindow {
		return nil, fmt.Errorf("vrrp: time window %v, want more than 0s and at most %v", window, maxWindow)
	}
	v := &Verifier{keys: map[uint8]Key{}, window: window, clock: steady{now}, last: map[sender]stamp{}}
	for _, key := range keys {
		if err := key.Validate(); err != nil {
			return nil, err
		}
		if _, ok := v.keys[key.ID]; ok {
			return nil, fmt.Errorf("vrrp: key id %d is there twice, want each once", key.ID)
		}
		v.keys[key.ID] = Key{ID: key.ID, Secret: slices.Clone(key.Secret)}
	}
	return v, nil
}

// Signed reports whether b has the length of an advertisement with a trailer. It does not say whether the trailer is
// right.
func Signed(b []byte, src, dst netip.Addr) bool {
	end, err := checkHeader(b, src, dst)
	return err == nil && len(b) == end+trailerLen
}

// Parse is as the function [Parse], for advertisements with a trailer. It checks structure, key, time, authentication
// code and sequence, in this order, and then what Parse checks. The error is always a *PacketError; a packet that is
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
	v.last[sender{src.WithZone(""), a.VRID}] = sequence
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
	if off := sequence.time().Sub(v.clock.at(now)).Abs(); off > v.window {
		return 0, &PacketError{Reason: RejectStale, Got: int(off / time.Second), Want: int(v.window / time.Second)}
	}
	want := key.mac(message, trailer[:trailerFixed], src)
	if !hmac.Equal(want[:], trailer[trailerFixed:]) {
		return 0, &PacketError{Reason: RejectMAC}
	}
	if last, ok := v.last[sender{src.WithZone(""), message[1]}]; ok && sequence <= last {
		return 0, &PacketError{Reason: RejectReplay}
	}
	return sequence, nil
}

// matchSigned checks the checksum, which over IPv6 covers the trailer as well when the sender's kernel has computed it.
func matchSigned(b []byte, end int, src, dst netip.Addr) (ChecksumForm, error) {
	if src.Is6() && fold(sum(pseudo(src, dst, len(b)), b)) == 0xffff {
		return PseudoHeader, nil
	}
	return matchChecksum(b[:end], b[0]>>4, src, dst)
}
