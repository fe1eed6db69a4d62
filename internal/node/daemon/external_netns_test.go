//go:build netns

package daemon

import (
	"net"
	"net/netip"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/serve/instance"
)

// TestInterfaceOfAVirtualMACGoesWithItsEntry that has become external: the next program may use its name.
func TestInterfaceOfAVirtualMACGoesWithItsEntry(t *testing.T) {
	const entry = "vips:\n- {name: a, addresses: [10.77.0.100], check: none, externalAddress: 'lb.example.org:6443'"
	s, h := spaceOf(t)
	s.Has("eth0", "10.77.0.11/24")
	r := newReloading(t, entry+", vrrp: {id: 51, virtualMAC: auto}}\n")
	r.host.links, r.host.bearers.links = h.links, h.links
	_, err := r.host.refresh()
	require.NoError(t, err)
	own := instance.Place{Index: s.Index("eth0"), Name: "eth0", Source: netip.MustParseAddr("10.77.0.11")}
	p, err := r.host.bearers.bearing(own, r.cfg.VIPs[0])
	require.NoError(t, err)
	there := func() bool {
		_, err := net.InterfaceByName(p.Bearer.Name)
		return err == nil
	}
	r.write(t, entry+", mode: external, externalGrace: 1s}\n")
	_, err = r.reload(t.Context())
	require.NoError(t, err)
	assert.True(t, there(), "this node goes on with it for a while")
	s.Eventually(func() bool { return !there() }, "the while is over")
	announce, err := os.ReadFile("/proc/sys/net/ipv4/conf/eth0/arp_announce")
	require.NoError(t, err)
	assert.Equal(t, "0\n", string(announce))
}
