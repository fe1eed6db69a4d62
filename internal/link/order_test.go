package link

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLeads(t *testing.T) {
	tests := []struct {
		name string
		link Link
		vip  string
		want bool
	}{
		{name: "behind the node's own", link: on(2, "eth0", "10.0.0.5/24", "ours 10.0.0.100/32"), vip: "10.0.0.100/32"},
		{name: "before it", link: on(2, "eth0", "ours 10.0.0.100/32", "10.0.0.5/24"), vip: "10.0.0.100/32", want: true},
		{name: "between two", link: on(2, "eth0", "10.0.0.5/24", "ours 10.0.0.100/32", "10.0.0.6/24"), vip: "10.0.0.100/32"},
		{name: "second of ours, before it", link: on(2, "eth0", "ours 10.0.0.99/32", "ours 10.0.0.100/32", "10.0.0.5/24"), vip: "10.0.0.100/32", want: true},
		{name: "alone", link: on(2, "eth0", "ours 10.0.0.100/32", "fe80::1/64"), vip: "10.0.0.100/32"},
		{name: "absent", link: on(2, "eth0", "10.0.0.5/24"), vip: "10.0.0.100/32"},
		{name: "IPv6", link: on(2, "eth0", "ours fd00::100/128", "fd00::5/64"), vip: "fd00::100/128"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, Leads(tt.link, netip.MustParsePrefix(tt.vip)))
		})
	}
}
