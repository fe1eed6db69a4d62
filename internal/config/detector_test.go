package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLoadRefusesADetectorThatCannotWork(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{
			"two peers and no witness", "vips: [{addresses: [10.77.0.1], vrrp: {detector: fast, peers: [10.77.0.11, 10.77.0.12]}}]\n",
			"vips[0].vrrp.detector: fast with 2 vrrp.peers, want all nodes there, this one too, three at least; or vrrp.detectorWitness, such as the gateway",
		},
		{"no port", "port: 0\nvips: [{addresses: [10.77.0.1], vrrp: {detector: fast}}]\n", "vips[0].vrrp.detector: fast with port 0, want a port: the nodes tell each other there what they find"},
		{
			"a group", "vips: [{name: a, addresses: [10.77.0.1], group: g, vrrp: {detector: fast}}]\n",
			"vips[0].vrrp.detector: fast with a group, want plain: the entries of a group move together, by their advertisements",
		},
		{
			"elsewhere", "vips: [{addresses: [10.77.0.1, 10.78.0.1], interface: eth0, elsewhere: [10.78.0.1=eth1], vrrp: {detector: fast}}]\n",
			"vips[0].vrrp.detector: fast with hooksOnly or elsewhere, want plain: nobody can be asked whether such an address is still answered for",
		},
		{
			"a witness without it", "vips: [{addresses: [10.77.0.1], vrrp: {detectorWitness: 10.77.0.254}}]\n",
			"vips[0].vrrp.detectorWitness: 10.77.0.254 without vrrp.detector fast, want both or neither",
		},
		{
			"the gateway as a witness without it", "vips: [{addresses: [10.77.0.1], vrrp: {detectorWitness: gateway}}]\n",
			"vips[0].vrrp.detectorWitness: gateway without vrrp.detector fast, want both or neither",
		},
		{
			"another word", "vips: [{addresses: [10.77.0.1], vrrp: {detector: fast, detectorWitness: router}}]\n",
			"vips[0].vrrp.detectorWitness: router, want an IPv4 or IPv6 address, or the word gateway",
		},
		{
			"a witness of the other family", "vips: [{addresses: [10.77.0.1], vrrp: {detector: fast, detectorWitness: 'fd77::1'}}]\n",
			"vips[0].vrrp.detectorWitness: fd77::1, want the family of the first address 10.77.0.1",
		},
		{
			"the virtual address as a witness", "vips: [{addresses: [10.77.0.1], vrrp: {detector: fast, detectorWitness: 10.77.0.1}}]\n",
			"vips[0].vrrp.detectorWitness: 10.77.0.1 is a virtual address, want a host that does not move, such as the gateway",
		},
		{
			"a node as a witness", "vips: [{addresses: [10.77.0.1], vrrp: {detector: fast, peers: [10.77.0.11, 10.77.0.12], detectorWitness: 10.77.0.12}}]\n",
			"vips[0].vrrp.detectorWitness: 10.77.0.12 is in vrrp.peers, want a host beside the nodes, such as the gateway",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load(inFile(tt.text))
			require.Error(t, err)
			assert.Contains(t, strings.Split(err.Error(), "\n")[0], tt.want)
		})
	}
	load(t, "vips: [{addresses: [10.77.0.1], vrrp: {detector: fast, peers: [10.77.0.11, 10.77.0.12, 10.77.0.13]}}]\n")
	cfg := load(t, "vips: [{addresses: [10.77.0.1], vrrp: {detector: fast, peers: [10.77.0.11, 10.77.0.12], detectorWitness: gateway}}]\n")
	assert.Equal(t, Witness{Gateway: true}, cfg.VIPs[0].VRRP.DetectorWitness)
	load(t, "vips: [{addresses: [10.77.0.1], vrrp: {detector: fast, peers: [10.77.0.11, 10.77.0.12], detectorWitness: 10.77.0.254}}]\n")
}
