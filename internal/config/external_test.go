package config

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEndpointIsWhereClientsConnect(t *testing.T) {
	for _, tt := range []struct{ entry, want string }{
		{"addresses: [10.77.0.100]", "10.77.0.100:6443"},
		{"addresses: ['fd77::100', 10.77.0.100]", "[fd77::100]:6443"},
		{"addresses: [10.77.0.100], check: 'tcp://127.0.0.1:5432'", "10.77.0.100:5432"},
		{"addresses: [10.77.0.100], check: none", ""},
		{"addresses: [10.77.0.100], spread: direct", "10.77.0.100:6443"},
		{"addresses: [10.77.0.100], spread: {via: direct, ports: [{port: 5000}, {port: 9443, target: 6443}]}", "10.77.0.100:9443"},
		{"addresses: [10.77.0.100], check: none, spread: {via: direct, ports: [{port: 53, protocol: udp}, {port: 5000, target: 80}]}", "10.77.0.100:5000"},
		{"addresses: [10.77.0.100], spread: {ports: [{port: 9443, target: 6443}]}", "10.77.0.100:6443"},
		{"addresses: [10.77.0.100], externalAddress: 'lb:7443'", "10.77.0.100:6443"},
		{"addresses: [10.77.0.100], mode: external, externalAddress: 'lb.example.org:7443'", "lb.example.org:7443"},
		{"addresses: [10.77.0.100], mode: external, externalAddress: lb.example.org", "lb.example.org:6443"},
		{"addresses: [10.77.0.100], mode: external, externalAddress: 'fd77::7'", "[fd77::7]:6443"},
		{"addresses: [10.77.0.100], mode: external, externalAddress: '[fd77::7]'", "[fd77::7]:6443"},
		{"addresses: [10.77.0.100], mode: external, externalAddress: '[fd77::7]:7443'", "[fd77::7]:7443"},
		{"mode: external, externalAddress: 192.0.2.7", "192.0.2.7:6443"},
		{"addresses: [10.77.0.100], check: none, mode: external, externalAddress: 'lb:7443', spread: {via: direct, ports: [{port: 5000}]}", "lb:7443"},
	} {
		c := load(t, "vips: [{"+tt.entry+"}]\n")
		assert.Equal(t, tt.want, c.VIPs[0].HostPort(), tt.entry)
	}
}

func TestExternalEntryIsAboutTheExternalAddress(t *testing.T) {
	c := load(t, "vips:\n- {name: a, mode: external, externalAddress: '192.0.2.7:6443', spread: direct, election: raft}\n- {name: b, addresses: [10.77.0.100]}\n"+
		"raft: {peers: [10.77.0.11], certificate: /c, privateKey: /p, ca: /ca}\n")
	assert.Equal(t, "192.0.2.7/32", c.VIPs[0].Addresses[0].String())
	assert.Empty(t, c.VIPs[0].SpreadPorts())
	assert.Empty(t, c.ByRaft())
	require.Len(t, c.Internal(), 1)
	assert.Equal(t, "b", c.Internal()[0].Name)
}

func TestModeIsOneForAGroup(t *testing.T) {
	_, err := Load(Input{Env: []string{EnvInline + "=" + head + `vips:
- {name: a, addresses: [10.77.0.100], group: g}
- {name: b, addresses: [10.77.0.101], group: g, mode: external, externalAddress: lb}
`}})
	require.ErrorContains(t, err, "vips[1].mode: external, and vips[0] of the same group has internal; want the same, as they move together")
	_, err = Load(Input{Env: []string{EnvInline + "=" + head + "vips: [{mode: external, externalAddress: lb}]\n"}})
	require.ErrorContains(t, err, "vips[0].addresses: none, and externalAddress is a name; want the virtual address that nodes hold in mode internal, such as [10.77.0.100]")
	_, err = Load(Input{Env: []string{EnvInline + "=" + head + "vips: [{mode: external}]\n"}})
	require.ErrorContains(t, err, "vips[0].externalAddress: missing with mode external, want the address or the name where clients connect, such as lb.example.org:6443")
	assert.NotContains(t, err.Error(), "addresses: none")
}
