package convert

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The names are those that keepalived 2.2.7 gives to the interfaces of such a file.
func TestVMACsAreCalledAsByKeepalived(t *testing.T) {
	instance := func(name, nic string, vrid int, vmac, address string) string {
		return fmt.Sprintf("vrrp_instance %s {\n interface %s\n virtual_router_id %d\n %s\n virtual_ipaddress {\n %s\n }\n}\n", name, nic, vrid, vmac, address)
	}
	text := instance("SIX", "eth0", 60, "use_vmac", "fd09::10") + instance("E", "eth1", 60, "use_vmac", "10.8.0.13") +
		instance("V4", "eth0", 51, "use_vmac", "10.9.0.100") + instance("V6", "eth0", 51, "use_vmac", "fd09::100") +
		instance("N", "eth0", 64, "use_vmac averyveryverylongname", "10.9.0.15") + instance("O", "eth0", 65, "use_vmac own 00:00:5E:00:01", "10.9.0.16")
	r := converted(t, text, Options{})
	cfg, err := load(r)
	require.NoError(t, err, shown(r))
	var names []string
	for _, v := range cfg.VIPs {
		names = append(names, v.VirtualMACInterface())
	}
	assert.Equal(t, []string{"vrrp.60", "vrrp1.60", "vrrp.51", "vrrp6.51", "vrrp.64", "own"}, names)
	assert.Contains(t, shown(r), "keepalived ignores the name")

	r = converted(t, "global_defs {\n vmac_prefix vm\n}\n"+instance("A", "eth0", 7, "use_vmac", "10.0.0.1"), Options{})
	assert.Contains(t, string(r.Text), "virtualMAC: vm.7")
	r = converted(t, "global_defs {\n vmac_prefix vm\n}\n"+instance("A", "eth0", 7, "vmac_xmit_base", "10.0.0.1"), Options{})
	assert.Contains(t, shown(r), "vmac_prefix: it is for instances with use_vmac and no name")
	assert.Contains(t, shown(r), "vmac_xmit_base: without use_vmac it means nothing")
}

// An address on another interface has the MAC of that, and one on the interface of the election the virtual one, as keepalived has it.
func TestVMACsAddressesAreWhereKeepalivedHasThem(t *testing.T) {
	r := converted(t, strings.ReplaceAll("vrrp_instance a {|interface ens19|virtual_router_id 105|use_vmac vip|vmac_xmit_base|unicast_src_ip 172.16.30.13|unicast_peer {|172.16.30.14|}|"+
		"virtual_ipaddress {|192.168.10.10/25 dev ens19|172.16.30.15/24 dev eth0|192.168.10.11 dev vip|}|}|", "|", "\n"), Options{})
	cfg, err := load(r)
	require.NoError(t, err, shown(r))
	v := cfg.VIPs[0]
	assert.Equal(t, "vip", v.VirtualMACInterface())
	assert.False(t, v.AdvertisesAsRouter())
	require.Len(t, v.Elsewhere, 1)
	assert.Equal(t, "eth0", v.Elsewhere[0].Interface)
}
