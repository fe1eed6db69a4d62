package arp

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/mdlayher/arp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/bpf"
)

var foreign = net.HardwareAddr{2, 0, 0, 0, 0, 9}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	require.NoError(t, err)
	return b
}

// sum sets the checksum of an ICMPv6 message in an Ethernet frame.
func sum(frame []byte) []byte {
	frame = slices.Clone(frame)
	icmp := frame[ethernetLen+ipv6Len:]
	binary.BigEndian.PutUint16(icmp[2:], 0)
	from, to := netip.AddrFrom16([16]byte(frame[22:38])), netip.AddrFrom16([16]byte(frame[38:54]))
	binary.BigEndian.PutUint16(icmp[2:], checksum(from, to, icmp))
	return frame
}

// changed is a frame with one byte replaced, and the checksum right again if the frame is IPv6.
func changed(frame []byte, at int, to byte) []byte {
	frame = slices.Clone(frame)
	frame[at] = to
	if frame[12] == 0x86 {
		return sum(frame)
	}
	return frame
}

func must(t testing.TB) func(b []byte, err error) []byte {
	return func(b []byte, err error) []byte {
		t.Helper()
		require.NoError(t, err)
		return b
	}
}

func TestParseClaim(t *testing.T) {
	v4, v6 := netip.MustParseAddr("10.9.0.100"), netip.MustParseAddr("fd09::100")
	ok := must(t)
	request := ok(gratuitousARP(arp.OperationRequest, foreign, v4))
	reply := ok(gratuitousARP(arp.OperationReply, foreign, v4))
	na := ok(unsolicitedNA(foreign, v6, false))
	probe4, probe6 := ok(probe(foreign, v4)), ok(probe(foreign, v6))
	ask := unhex(t, "ffffffffffff 020000000009 0806 0001080006040001 020000000009 0a090064 000000000000 0a090001")
	const nsHead = "3333ff000001 020000000009 86dd 60000000 0020 3aff fd090000000000000000000000000100 ff0200000000000000000001ff000001 "
	ns := sum(unhex(t, nsHead+"87000000 00000000 fd090000000000000000000000000001 0101 020000000009"))
	relayed := sum(unhex(t, strings.Replace(nsHead, "020000000009", "020000000001", 1)+"87000000 00000000 fd090000000000000000000000000001 0101 020000000009"))
	toOne := slices.Clone(ask) // the answer of a kernel to a probe
	copy(toOne, foreign)
	toOne[ethernetLen+7] = 2
	solicited := slices.Clone(na)
	solicited[ethernetLen+ipv6Len+4] |= 0x40
	asserted4, asserted6 := Claim{v4, foreign, false}, Claim{v6, foreign, false}
	tests := []struct {
		name string
		give []byte
		want Claim // the zero Claim: none
	}{
		{name: "gratuitous request", give: request, want: asserted4},
		{name: "gratuitous reply", give: reply, want: asserted4},
		{name: "a question asked in its name", give: ask, want: asserted4},
		{name: "an answer", give: toOne, want: Claim{v4, foreign, true}},
		{name: "a question that goes to one host", give: changed(toOne, ethernetLen+7, 1), want: asserted4},
		{name: "a solicited neighbour advertisement", give: sum(solicited), want: Claim{v6, foreign, true}},
		{name: "ARP probe (RFC 5227 2.1.1)", give: probe4},
		{name: "a reply from nobody", give: changed(probe4, ethernetLen+7, 2)},
		{name: "neighbour advertisement", give: na, want: asserted6},
		{name: "neighbour solicitation from it", give: ns, want: asserted6},
		{name: "the option counts, not who passed the frame on", give: relayed, want: asserted6},
		{name: "duplicate address detection (RFC 4862 5.4.2)", give: probe6},
		{name: "empty"},
		{name: "cut in the Ethernet header", give: request[:13]},
		{name: "cut in ARP", give: request[:41]},
		{name: "another EtherType", give: changed(request, 13, 0)},
		{name: "another hardware type", give: changed(request, ethernetLen+1, 6)},
		{name: "another protocol type", give: changed(request, ethernetLen+2, 9)},
		{name: "hardware addresses of 5 bytes", give: changed(request, ethernetLen+4, 5)},
		{name: "protocol addresses of 16 bytes", give: changed(request, ethernetLen+5, 16)},
		{name: "a group's hardware address", give: changed(request, ethernetLen+8, 3)},
		{name: "a group's protocol address", give: changed(request, ethernetLen+14, 224)},
		{name: "cut in IPv6", give: na[:53]},
		{name: "cut in ICMPv6", give: na[:len(na)-1]},
		{name: "hop limit 254 (RFC 4861 7.1.2)", give: changed(na, ethernetLen+7, 254)},
		{name: "another next header", give: changed(na, ethernetLen+6, 17)},
		{name: "IP version 4", give: changed(na, ethernetLen, 0x40)},
		{name: "ICMP code 1 (RFC 4861 7.1.2)", give: changed(na, 55, 1)},
		{name: "a wrong checksum", give: func() []byte { b := slices.Clone(na); b[len(b)-1]++; return b }()},
		{name: "router advertisement", give: changed(na, 54, 134)},
		{name: "a group as target (RFC 4861 7.1.2)", give: changed(na, 62, 0xff)},
		{name: "an option of length 0", give: changed(na, ethernetLen+ipv6Len+25, 0)},
		{name: "an option past the end", give: changed(na, ethernetLen+ipv6Len+25, 9)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := parseClaim(tt.give)
			assert.Equal(t, tt.want.Addr.IsValid(), ok)
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestProbeBytes(t *testing.T) {
	ok := must(t)
	mac := net.HardwareAddr{2, 0, 0, 0, 0, 1}
	p4 := unhex(t, "ffffffffffff 020000000001 0806 0001080006040001 020000000001 00000000 000000000000 0a090064")
	assert.Equal(t, append(p4, make([]byte, 60-len(p4))...), ok(probe(mac, netip.MustParseAddr("10.9.0.100"))))
	p6 := sum(unhex(t, "3333ff000100 020000000001 86dd 60000000 0018 3aff 00000000000000000000000000000000 ff0200000000000000000001ff000100 87000000 00000000 fe800000000000000000000000000100"))
	assert.Equal(t, p6, ok(probe(mac, netip.MustParseAddr("fe80::100"))))
}

func TestClaimVRID(t *testing.T) {
	for mac, want := range map[string]int{
		"00:00:5e:00:01:33": 0x33, "00:00:5e:00:02:01": 1, "00:00:5e:00:03:01": -1, "02:00:5e:00:01:33": -1, "00:00:5e:01:01:33": -1,
	} {
		hw, err := net.ParseMAC(mac)
		require.NoError(t, err)
		id, ok := Claim{MAC: hw}.VRID()
		assert.Equal(t, want >= 0, ok, mac)
		assert.Equal(t, max(want, 0), int(id), mac)
	}
	_, ok := Claim{}.VRID()
	assert.False(t, ok)
}

// TestFilters runs the programs that the kernel gets, without their first lines: only the kernel knows of VLAN tags.
func TestFilters(t *testing.T) {
	ok := must(t)
	watched := []netip.Addr{netip.MustParseAddr("10.9.0.100"), netip.MustParseAddr("10.9.0.101")}
	watched6 := []netip.Addr{netip.MustParseAddr("fd09::100"), netip.MustParseAddr("fd09::101")}
	a4, a6 := watched[1], watched6[1]
	other4, other6 := netip.MustParseAddr("10.9.0.7"), netip.MustParseAddr("fd09::7")
	tooMany := upTo(mostFiltered + 1)
	na := ok(unsolicitedNA(foreign, a6, false))
	ns := unhex(t, "3333ff000001 020000000009 86dd 60000000 0018 3aff fd090000000000000000000000000101 ff0200000000000000000001ff000001 87000000 00000000 fd090000000000000000000000000001")
	tests := []struct {
		name   string
		filter []bpf.Instruction
		give   []byte
		want   bool
	}{
		{"ARP from it", arpFilter(watched), ok(gratuitousARP(arp.OperationRequest, foreign, a4)), true},
		{"ARP probe for it", arpFilter(watched), ok(probe(foreign, a4)), false},
		{"ARP of others", arpFilter(watched), ok(gratuitousARP(arp.OperationRequest, foreign, other4)), false},
		{"ARP, with nobody watched", arpFilter(nil), ok(gratuitousARP(arp.OperationRequest, foreign, a4)), false},
		{"ARP of others, with too many addresses", arpFilter(tooMany), ok(gratuitousARP(arp.OperationRequest, foreign, other4)), true},
		{"advertisement for it", ndFilter(watched6), na, true},
		{"solicitation from it", ndFilter(watched6), ns, true},
		{"solicitation for it", ndFilter(watched6), ok(probe(foreign, a6)), false},
		{"advertisement for others", ndFilter(watched6), ok(unsolicitedNA(foreign, other6, false)), false},
		{"router advertisement", ndFilter(watched6), changed(na, 54, 134), false},
		{"a wrong hop limit", ndFilter(watched6), changed(na, 21, 64), false},
		{"not ICMPv6", ndFilter(watched6), changed(na, 20, 17), false},
		{"a short packet", ndFilter(watched6), na[:54], false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := bpf.Assemble(tt.filter)
			require.NoError(t, err)
			vm, err := bpf.NewVM(tt.filter[len(untagged()):])
			require.NoError(t, err)
			n, err := vm.Run(tt.give)
			require.NoError(t, err)
			assert.Equal(t, tt.want, n > 0)
		})
	}
}

// upTo makes n different addresses, spread over the whole range.
func upTo(n int) []netip.Addr {
	addrs := make([]netip.Addr, n)
	for i := range addrs {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], uint32(i+1)*2654435769)
		addrs[i] = netip.AddrFrom4(b)
	}
	return addrs
}

func TestFilterFindsEachOfMany(t *testing.T) {
	for _, n := range []int{1, leafSize, leafSize + 1, 255, mostFiltered} {
		addrs := upTo(n + 1)
		filter := arpFilter(addrs[:n])
		raw, err := bpf.Assemble(filter)
		require.NoError(t, err)
		assert.Less(t, len(raw), 4096, "the kernel's limit")
		vm, err := bpf.NewVM(filter[len(untagged()):])
		require.NoError(t, err)
		for i, a := range addrs {
			frame, err := gratuitousARP(arp.OperationReply, foreign, a)
			require.NoError(t, err)
			passed, err := vm.Run(frame)
			require.NoError(t, err)
			assert.Equal(t, i < n, passed > 0, "%s of %d", a, n)
		}
	}
}

func FuzzParseClaim(f *testing.F) {
	ok := must(f)
	v4, v6 := netip.MustParseAddr("10.9.0.100"), netip.MustParseAddr("fd09::100")
	f.Add(ok(gratuitousARP(arp.OperationReply, foreign, v4)))
	f.Add(ok(unsolicitedNA(foreign, v6, true)))
	f.Add(ok(probe(foreign, v4)))
	f.Add(ok(probe(foreign, v6)))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		for _, frame := range [][]byte{b, fixed(b)} {
			c, ok := parseClaim(frame)
			if ok && (!c.Addr.IsValid() || len(c.MAC) != 6) {
				t.Fatalf("claim without substance: %+v", c)
			}
		}
		if !bytes.Equal(before, b) {
			t.Fatal("the frame was changed")
		}
	})
}

// fixed makes IPv6 of anything long enough, so that the fuzzer gets past the checksum.
func fixed(b []byte) []byte {
	if len(b) < ethernetLen+ipv6Len+24 {
		return b
	}
	b = bytes.Clone(b)
	copy(b[12:], []byte{0x86, 0xdd, 0x60})
	binary.BigEndian.PutUint16(b[18:], uint16(len(b)-ethernetLen-ipv6Len))
	b[20], b[21], b[55] = icmpv6, hopLimit, 0
	return sum(b)
}
