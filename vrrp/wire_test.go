package vrrp

import (
	"encoding/hex"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	addr  = netip.MustParseAddr
	node1 = addr("10.9.0.11")
	node2 = addr("10.9.0.12")
	vip   = addr("10.9.0.100")
)

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.NewReplacer(" ", "", "|", "").Replace(s))
	require.NoError(t, err)
	return b
}

func password(s string) (p [8]byte) {
	copy(p[:], s)
	return p
}

// wire is a packet as another implementation sends it, and what it means. The keepalived cases were captured from
// keepalived 2.2.7 and 2.4.3 alike.
type wire struct {
	name     string
	src, dst netip.Addr
	bytes    string
	form     ChecksumForm
	want     Advertisement
}

func wires() []wire {
	v2 := Advertisement{Version: 2, VRID: 51, Priority: 100, Interval: time.Second, Addresses: []netip.Addr{vip}}
	v3 := Advertisement{Version: 3, VRID: 51, Priority: 100, Interval: time.Second, Addresses: []netip.Addr{vip}}
	pass := func(p string) Advertisement {
		a := v2
		a.AuthType, a.AuthData = AuthPass, password(p)
		return a
	}
	giveUp, v6 := v2, v3
	giveUp.Priority = 0
	v6.Addresses = []netip.Addr{addr("fe80::100"), addr("fd09::100")}
	none := v2
	none.Addresses = []netip.Addr{}
	return []wire{
		{"keepalived v2 no auth", node1, group4, "213364010001705d 0a090064 0000000000000000", MessageOnly, v2},
		{"keepalived v2 password", node1, group4, "2133640101013b2b 0a090064 3432000000000000", MessageOnly, pass("42")},
		{"keepalived v2 password cut to 8 bytes", node1, group4, "213364010101b49e 0a090064 6d79636c75737465", MessageOnly, pass("mycluste")},
		{"keepalived v2 unicast", node1, node2, "213364010001705d 0a090064 0000000000000000", MessageOnly, v2},
		{"keepalived v2 priority 0", node1, group4, "213300010001d45d 0a090064 0000000000000000", MessageOnly, giveUp},
		{"keepalived v3 multicast", node1, group4, "3133640100647557 0a090064", PseudoHeader, v3},
		{"RFC 9568 v3 multicast", node1, group4, "3133640100645ffa 0a090064", MessageOnly, v3},
		{"keepalived v3 unicast", node1, node2, "3133640100644b55 0a090064", PseudoHeader, v3},
		{"RFC 9568 v3 unicast", node1, node2, "3133640100645ffa 0a090064", MessageOnly, v3},
		{"keepalived before 1.3.6 v3 unicast", node1, node2, "3133640100647557 0a090064", MulticastPseudoHeader, v3},
		{
			"keepalived v3 IPv6", addr("fe80::ff:fe00:1"), group6,
			"3133640200646fac fe800000000000000000000000000100 fd090000000000000000000000000100", PseudoHeader, v6,
		},
		{
			"holo v2", addr("10.0.1.1"), group4, "21331e010001b5c5 0a000105 0000000000000000", MessageOnly,
			Advertisement{Version: 2, VRID: 51, Priority: 30, Interval: time.Second, Addresses: []netip.Addr{addr("10.0.1.5")}},
		},
		{"keepalived v2 without an address", node1, group4, "2133640000017acb 0000000000000000", MessageOnly, none},
	}
}

func TestParseReadsOtherImplementations(t *testing.T) {
	for _, tt := range wires() {
		t.Run(tt.name, func(t *testing.T) {
			got, form, err := Parse(unhex(t, tt.bytes), tt.src, tt.dst)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.form, form)
		})
	}
}

func TestAdvertisementAppendIsByteExact(t *testing.T) {
	for _, tt := range wires() {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.want.Append([]byte("before"), tt.src, tt.dst, tt.form)
			require.NoError(t, err)
			assert.Equal(t, append([]byte("before"), unhex(t, tt.bytes)...), got)
		})
	}
}
