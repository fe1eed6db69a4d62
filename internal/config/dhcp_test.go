package config

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLeasesHaveTheSameClientOnAllNodes(t *testing.T) {
	a := netip.MustParseAddr("10.77.0.100")
	for text, want := range map[string]string{"dhcp: true": "keepvip-10.77.0.100", "dhcp: {lease: true, clientID: api}": "api"} {
		cfg, err := Load(Input{Env: []string{EnvInline + "=apiVersion: keepvip/v1\nkind: Config\nvips:\n- {addresses: [10.77.0.100, 'fd77::100'], " + text + "}\n"}, Elsewhere: true})
		require.NoError(t, err, text)
		assert.True(t, cfg.VIPs[0].DHCP.Lease, text)
		assert.Equal(t, want, cfg.VIPs[0].ClientIDOf(a), text)
	}
}

func TestLeasesThatNobodyCanKeepAreRefused(t *testing.T) {
	const key, v4 = "vips[0].dhcp.lease: ", "addresses: [10.77.0.100], "
	for text, want := range map[string]string{
		"addresses: ['fd77::100'], dhcp: true":                                    key + "true, and there are IPv6 addresses alone, for which keepvip keeps no lease (DHCPv6); want an IPv4 address in addresses, or false",
		v4 + "dhcp: {clientID: api}":                                              "vips[0].dhcp.clientID: set without dhcp.lease",
		"addresses: [10.77.0.100, 10.77.0.101], dhcp: {lease: true, clientID: a}": "vips[0].dhcp.clientID: one for 2 IPv4 addresses",
		v4 + "dhcp: {lease: true, clientID: a b}":                                 "vips[0].dhcp.clientID: \"a b\", want 1 to 64 printable characters without blanks",
		v4 + "dhcp: true, hooksOnly: true":                                        key + "true with hooksOnly",
		v4 + "dhcp: true, election: local":                                        key + "true with election local",
		v4 + "dhcp: true, mode: external, externalAddress: lb.example.org":        key + "true with mode external",
		v4 + "dhcp: true, interface: eth0, elsewhere: [10.77.0.100=eth1]":         key + "true with elsewhere",
	} {
		_, err := Load(Input{Env: []string{EnvInline + "=apiVersion: keepvip/v1\nkind: Config\nvips:\n- {" + text + "}\n"}, Elsewhere: true})
		assert.ErrorContains(t, err, want, text)
	}
}
