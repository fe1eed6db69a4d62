//go:build linux

package vrrp

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/bpf"
)

var strangerMAC = net.HardwareAddr{2, 0, 0, 0, 0, 0x66}

// strangerFrame is an advertisement as it comes from the link.
func strangerFrame(t testing.TB, adv Advertisement, source string) []byte {
	t.Helper()
	src := netip.MustParseAddr(source)
	payload, err := adv.Append(nil, src, MulticastGroup(src.Is4()), PseudoHeader)
	require.NoError(t, err)
	c := &Conn{filter: filter{source: src}}
	packet, protocol := c.packet(payload, c.filter.source)
	offset := 16
	if src.Is6() {
		offset = 24
	} else {
		packet[10], packet[11] = 0, 0 // nobody looks at the header's checksum here
	}
	copy(packet[offset:], MulticastGroup(src.Is4()).AsSlice())
	frame := append([]byte{1, 0, 0x5e, 0, 0, 0x12}, strangerMAC...)
	return append(append(frame, byte(protocol), byte(protocol>>8)), packet...)
}

func TestOverheardFrames(t *testing.T) {
	v2 := Advertisement{Version: 2, VRID: 52, Priority: 101, Interval: time.Second, Addresses: []netip.Addr{netip.MustParseAddr("10.77.0.100")}}
	v3 := Advertisement{Version: 3, VRID: 53, Priority: 7, Interval: time.Second, Addresses: []netip.Addr{netip.MustParseAddr("fe80::100")}}
	four, six := strangerFrame(t, v2, "10.77.0.66"), strangerFrame(t, v3, "fe80::66")
	changed := func(frame []byte, at int, to byte) []byte {
		out := append([]byte{}, frame...)
		out[at] = to
		return out
	}
	for name, tt := range map[string]struct {
		frame  []byte
		v4     bool
		passes bool
		want   Overheard
	}{
		"version 2":              {frame: four, v4: true, passes: true, want: Overheard{netip.MustParseAddr("10.77.0.66"), 2, 52, 101}},
		"version 3 by IPv6":      {frame: six, passes: true, want: Overheard{netip.MustParseAddr("fe80::66"), 3, 53, 7}},
		"of another MAC":         {frame: changed(four, 11, 0x67), v4: true, want: Overheard{netip.MustParseAddr("10.77.0.66"), 2, 52, 101}},
		"another protocol":       {frame: changed(four, 14+9, 17), v4: true},
		"another protocol, IPv6": {frame: changed(six, 14+6, 58)},
		"a hop limit below 255":  {frame: changed(four, 14+8, 254), v4: true, passes: true},
		"a wrong checksum":       {frame: changed(four, 14+20+2, 102), v4: true, passes: true},
		"cut off":                {frame: four[:len(four)-1], v4: true, passes: true},
		"IPv6 cut off":           {frame: six[:len(six)-1], passes: true},
		"a header alone":         {frame: six[:14+40-1], passes: true},
		"no header":              {frame: four[:13], v4: true},
	} {
		t.Run(name, func(t *testing.T) {
			program := overhearFilter(strangerMAC, tt.v4)[3:] // the VM knows nothing of VLANs
			vm, err := bpf.NewVM(program)
			require.NoError(t, err)
			n, err := vm.Run(tt.frame)
			require.NoError(t, err)
			assert.Equal(t, tt.passes, n > 0)
			got, err := parseOverheard(tt.frame, tt.v4)
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.want == Overheard{}, err != nil)
		})
	}
}

// A frame of any host is read without a crash, and says nothing unless all of it fits.
func FuzzParseOverheard(f *testing.F) {
	adv := Advertisement{Version: 3, VRID: 53, Priority: 7, Interval: time.Second, Addresses: []netip.Addr{netip.MustParseAddr("10.77.0.100")}}
	f.Add(strangerFrame(f, adv, "10.77.0.66"), true)
	adv.Addresses = []netip.Addr{netip.MustParseAddr("fe80::100")}
	f.Add(strangerFrame(f, adv, "fe80::66"), false)
	f.Fuzz(func(t *testing.T, frame []byte, v4 bool) {
		o, err := parseOverheard(frame, v4)
		if err != nil {
			assert.Zero(t, o)
			return
		}
		assert.Equal(t, v4, o.Source.Is4())
		assert.NotZero(t, o.VRID)
	})
}
