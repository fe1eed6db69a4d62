package gather

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/kernel/link"
)

func on(index int, prefixes ...string) link.Link {
	l := link.Link{Index: index, Up: true}
	for _, p := range prefixes {
		l.Addresses = append(l.Addresses, link.Address{Prefix: netip.MustParsePrefix(p)})
	}
	return l
}

func TestPeersAreMetWhereTheirSubnetIs(t *testing.T) {
	a := netip.MustParseAddr
	inner, outer := on(2, "10.77.0.11/24", "fd77::11/64"), on(3, "192.0.2.11/24")
	links := []link.Link{inner, outer}
	places := []place{{link: outer, ipv4: true}, {link: inner, ipv4: true}, {link: inner}}
	tests := map[string]struct {
		peers []netip.Addr
		want  [][]netip.Addr
	}{
		"none":              {nil, [][]netip.Addr{nil, nil, nil}},
		"of the second":     {[]netip.Addr{a("10.77.0.12"), a("10.77.0.13")}, [][]netip.Addr{nil, {a("10.77.0.12"), a("10.77.0.13")}, nil}},
		"this host":         {[]netip.Addr{a("10.77.0.11"), a("192.0.2.11"), a("fd77::11")}, [][]netip.Addr{nil, nil, nil}},
		"twice":             {[]netip.Addr{a("192.0.2.12"), a("192.0.2.12")}, [][]netip.Addr{{a("192.0.2.12")}, nil, nil}},
		"behind a router":   {[]netip.Addr{a("198.51.100.1")}, [][]netip.Addr{{a("198.51.100.1")}, nil, nil}},
		"of another family": {[]netip.Addr{a("fd77::12")}, [][]netip.Addr{nil, nil, {a("fd77::12")}}},
	}
	for name, tt := range tests {
		assert.Equal(t, tt.want, peersOf(places, links, tt.peers), name)
	}
	assert.Equal(t, [][]netip.Addr{nil}, peersOf(places[:1], links, []netip.Addr{a("fd77::12")}), "a family without a place")
}
