package config

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestVirtualMACInterfaceIsCalledAsByKeepalived(t *testing.T) {
	for text, want := range map[string]struct {
		name     string
		asRouter bool
	}{
		"addresses: [10.77.0.100], vrrp: {id: 51}":                                                              {"", false},
		"addresses: [10.77.0.100], vrrp: {id: 51, virtualMAC: auto}":                                            {"vrrp.51", true},
		"addresses: ['fd77::100', 10.77.0.100], vrrp: {id: 51, virtualMAC: auto}":                               {"vrrp6.51", true},
		"addresses: [10.77.0.100], vrrp: {id: 51, virtualMAC: vmac0, advertiseFromInterface: true}":             {"vmac0", false},
		"addresses: [10.77.0.100], vrrp: {virtualMAC: auto, advertiseFromInterface: true, peers: [10.77.0.11]}": {"vrrp.140", false},
	} {
		cfg, err := Load(Input{Env: []string{EnvInline + "=apiVersion: keepvip/v1\nkind: Config\nvips:\n- {" + text + "}\n"}, Elsewhere: true})
		require.NoError(t, err, text)
		assert.Equal(t, want.name, cfg.VIPs[0].VirtualMACInterface(), text)
		assert.Equal(t, want.asRouter, cfg.VIPs[0].AdvertisesAsRouter(), text)
	}
}

func TestVirtualMACRefusesWhatItCannotBeWith(t *testing.T) {
	const key = "vips[0].vrrp.virtualMAC: "
	for text, want := range map[string]string{
		"vrrp: {advertiseFromInterface: true}":                                      "vips[0].vrrp.advertiseFromInterface: true without vrrp.virtualMAC",
		"vrrp: {virtualMAC: auto, peers: [10.77.0.11]}":                             key + "set with vrrp.peers, want vrrp.advertiseFromInterface true beside it",
		"vrrp: {virtualMAC: auto}, election: raft":                                  key + "set with election raft, want vrrp",
		"vrrp: {virtualMAC: auto}, hooksOnly: true":                                 key + "set with hooksOnly",
		"vrrp: {virtualMAC: auto}, spread: direct":                                  key + "set with spread.via direct",
		"vrrp: {virtualMAC: auto}, mode: external, externalAddress: lb.example.org": key + "set with mode external",
		"vrrp: {virtualMAC: eth0}, interface: eth0":                                 key + "eth0 is the interface itself",
		"vrrp: {virtualMAC: sixteen-letters-}":                                      key,
	} {
		_, err := Load(Input{Env: []string{EnvInline + "=apiVersion: keepvip/v1\nkind: Config\nvips:\n- {addresses: [10.77.0.100], " + text + "}\n"}, Elsewhere: true})
		assert.ErrorContains(t, err, want, text)
	}
	_, err := Load(Input{Env: []string{EnvInline + "=apiVersion: keepvip/v1\nkind: Config\nvips:\n" +
		"- {name: a, addresses: [10.77.0.100], interface: eth0, vrrp: {id: 5, virtualMAC: auto}}\n- {name: b, addresses: [10.78.0.100], interface: eth1, vrrp: {id: 5, virtualMAC: auto}}\n"}, Elsewhere: true})
	assert.ErrorContains(t, err, "vips[1].vrrp.virtualMAC: vrrp.5 is also that of vips[0], want a name of its own for each")
}
