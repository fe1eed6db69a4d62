package arp

import (
	"encoding/hex"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAnnouncementBytes compares with what keepalived 2.2.7 and 2.4.3 were seen to send: the ARP request and the neighbour advertisement to
// the bit. The reply form, which keepalived does not have, differs from the request in the operation and the target hardware address.
func TestAnnouncementBytes(t *testing.T) {
	const (
		broadcast = "ffffffffffff 020000000001 0806 "
		request   = broadcast + "0001080006040001 020000000001 0a090064 ffffffffffff 0a090064"
		reply     = broadcast + "0001080006040002 020000000001 0a090064 020000000001 0a090064"
		allNodes  = "333300000001 020000000001 86dd 60000000 0020 3a ff fe800000000000000000000000000100 ff020000000000000000000000000001 "
		na        = allNodes + "8800559d20000000 fe800000000000000000000000000100 0201020000000001"
		naRouter  = allNodes + "8800d59ca0000000 fe800000000000000000000000000100 0201020000000001"
	)
	tests := []struct {
		name   string
		router bool
		give   []string
		want   []string
	}{
		{name: "IPv4: request form, then reply form", give: []string{"10.9.0.100"}, want: []string{request, reply}},
		{name: "IPv6: the Override flag only", give: []string{"fe80::100"}, want: []string{na}},
		{name: "IPv6 on a router: and the Router flag", router: true, give: []string{"fe80::100"}, want: []string{naRouter}},
		{name: "several: in order", give: []string{"fe80::100", "10.9.0.100"}, want: []string{na, request, reply}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var addrs []netip.Addr
			for _, a := range tt.give {
				addrs = append(addrs, netip.MustParseAddr(a))
			}
			frames, err := announcement(net.HardwareAddr{2, 0, 0, 0, 0, 1}, tt.router, addrs)
			require.NoError(t, err)
			require.Len(t, frames, len(tt.want))
			for i, f := range frames {
				want := strings.ReplaceAll(tt.want[i], " ", "")
				got := hex.EncodeToString(f)
				// Ethernet pads short frames with zeros to 60 bytes without the check sequence.
				assert.Equal(t, want+strings.Repeat("0", max(120-len(want), 0)), got)
			}
		})
	}
}

func TestAnnouncementRefusesForeignMAC(t *testing.T) {
	for _, addr := range []string{"10.9.0.100", "fe80::100"} {
		_, err := announcement(make(net.HardwareAddr, 20), false, []netip.Addr{netip.MustParseAddr(addr)})
		assert.ErrorContains(t, err, addr)
	}
}
