package config

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFollowTargetsAreOfTheFirstEntryThatIsSpread(t *testing.T) {
	const (
		off      = "- {name: off, addresses: [10.77.0.1], check: none, vrrp: {id: 1}}\n"
		backends = "- {name: b, addresses: [10.77.0.2], check: none, vrrp: {id: 2}, spread: {via: masquerade, ports: [{port: 1}], backends: [{addresses: [10.77.0.99]}]}}\n"
		external = "- {name: x, addresses: [10.77.0.3], check: none, vrrp: {id: 3}, mode: external, externalAddress: 'lb:1', spread: {via: direct, ports: [{port: 2}]}}\n"
		udp      = "- {name: u, addresses: [10.77.0.4], check: none, vrrp: {id: 4}, spread: {via: direct, ports: [{port: 3, protocol: udp}]}}\n"
		tcp      = "- {name: t, addresses: [10.77.0.5, fd77::5], check: none, vrrp: {id: 5}, spread: {via: direct, ports: [{port: 3, protocol: udp}, {port: 4, target: 5}]}}\n"
		kubeadm  = "- {name: k, addresses: [10.77.0.6], check: kubeadm, vrrp: {id: 6}, spread: masquerade}\n"
	)
	for entries, want := range map[string]string{
		off:                             "[]",
		backends:                        "[]",
		external:                        "[]",
		off + backends + external + tcp: "[10.77.0.5:4 [fd77::5]:4]",
		kubeadm + tcp:                   "[10.77.0.6:6443]",
		udp + tcp:                       "[]",
	} {
		c := load(t, "vips:\n"+entries)
		assert.Equal(t, want, fmt.Sprint(c.FollowTargets()), entries)
	}
	// Nothing is in the way of the listener of an entry that is external for a while.
	assert.True(t, load(t, "vips:\n"+external+"follow: {listen: '127.0.0.1:9443', onMembers: true}\n").Follow.OnMembers)
}
