package link

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestContainerNetwork(t *testing.T) {
	at := func(name, prefix string) Link {
		return Link{Name: name, Addresses: []Address{{Prefix: netip.MustParsePrefix(prefix)}}}
	}
	links := []Link{
		at("eth0", "10.77.0.11/24"), at("docker0", "172.17.0.1/16"), at("br-0123456789ab", "172.18.0.1/16"), at("br-lan", "172.19.0.1/16"),
		at("flannel.1", "10.244.1.0/32"), at("cni0", "fd44::1/64"),
	}
	for addr, want := range map[string]string{
		"10.77.0.100": "", "172.17.9.9": "docker0", "172.18.0.9": "br-0123456789ab", "172.19.0.9": "", "10.244.1.0": "", "fd44::9": "cni0",
	} {
		name, subnet, found := ContainerNetwork(links, netip.MustParseAddr(addr), nil, "")
		assert.Equal(t, want, name, addr)
		assert.Equal(t, want != "", found && subnet.Contains(netip.MustParseAddr(addr)), addr)
	}
	_, _, found := ContainerNetwork(links, netip.MustParseAddr("172.17.9.9"), nil, "docker0")
	assert.False(t, found, "it was chosen on purpose")
	_, _, found = ContainerNetwork(links, netip.MustParseAddr("172.17.9.9"), []netip.Addr{netip.MustParseAddr("172.17.0.1")}, "")
	assert.False(t, found, "a virtual address has no subnet")
}
