package vrrp

import (
	"encoding/hex"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// FuzzParse wants of any input either a *PacketError or an advertisement that goes back on the wire as it came, but for
// the bits that receivers ignore.
func FuzzParse(f *testing.F) {
	for _, tt := range wires() {
		b, err := hex.DecodeString(strings.ReplaceAll(tt.bytes, " ", ""))
		require.NoError(f, err)
		f.Add(b, tt.src.AsSlice(), tt.dst.AsSlice())
	}
	f.Fuzz(func(t *testing.T, b, srcBytes, dstBytes []byte) {
		src, _ := netip.AddrFromSlice(srcBytes)
		dst, _ := netip.AddrFromSlice(dstBytes)
		a, form, err := Parse(b, src, dst)
		if err != nil {
			var packet *PacketError
			require.ErrorAs(t, err, &packet)
			assert.NotEmpty(t, packet.Reason)
			assert.NotEmpty(t, packet.Error())
			return
		}
		again, err := a.Append(nil, src, dst, form)
		if src.Is4In6() || dst.Is4In6() || strings.Contains(errText(err), "address ::ffff:") {
			return // an IPv6 packet may carry mapped addresses; we never send them
		}
		require.NoError(t, err)
		require.Len(t, again, len(b))
		got, gotForm, err := Parse(again, src, dst)
		require.NoError(t, err)
		if a.AuthType == AuthNone {
			a.AuthData, got.AuthData = [8]byte{}, [8]byte{}
		}
		assert.Equal(t, a, got)
		assert.Equal(t, form, gotForm)
	})
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// FuzzAppend wants of any advertisement either an error or bytes that Parse reads back.
func FuzzAppend(f *testing.F) {
	f.Add(uint8(3), uint8(51), uint8(100), int64(time.Second), vip.AsSlice(), uint8(0), []byte(nil), true)
	f.Add(uint8(2), uint8(51), uint8(0), int64(time.Second), vip.AsSlice(), uint8(1), []byte("42"), false)
	f.Add(uint8(3), uint8(1), uint8(255), int64(10*time.Millisecond), addr("fd09::1").AsSlice(), uint8(0), []byte(nil), true)
	f.Fuzz(func(t *testing.T, version, vrid, priority uint8, interval int64, address []byte, auth uint8, data []byte, pseudo bool) {
		ip, ok := netip.AddrFromSlice(address)
		src, dst, form := node1, group4, MessageOnly
		if ok && ip.Is6() {
			src, dst = addr("fe80::1"), group6
		}
		if pseudo {
			form = PseudoHeader
		}
		a := Advertisement{
			Version: version, VRID: vrid, Priority: priority, Interval: time.Duration(interval),
			Addresses: []netip.Addr{ip}, AuthType: auth,
		}
		if version == 2 && auth == AuthPass {
			copy(a.AuthData[:], data)
		}
		b, err := a.Append(nil, src, dst, form)
		if err != nil {
			assert.Empty(t, b)
			var packet *PacketError
			assert.False(t, errors.As(err, &packet), "an error of ours is not the network's")
			return
		}
		got, _, err := Parse(b, src, dst)
		require.NoError(t, err)
		assert.Equal(t, a, got)
	})
}
