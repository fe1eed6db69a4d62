package link

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// on makes a link from prefixes as `ip address` prints them. A word before a prefix says what is special about it.
func on(index int, name string, prefixes ...string) Link {
	l := Link{Index: index, Name: name, Up: true}
	for _, s := range prefixes {
		words := strings.Fields(s)
		a := Address{Prefix: netip.MustParsePrefix(words[len(words)-1])}
		for _, w := range words[:len(words)-1] {
			switch w {
			case "ours":
				a.Ours = true
			case "secondary":
				a.Secondary = true
			case "tentative":
				a.Tentative = true
			case "dadfailed":
				a.DadFailed = true
			case "deprecated":
				a.Deprecated = true
			default:
				a.Peer = netip.MustParseAddr(w)
			}
		}
		l.Addresses = append(l.Addresses, a)
	}
	return l
}

func TestChoose(t *testing.T) {
	lo := on(1, "lo", "127.0.0.1/8", "::1/128")
	lo.Loopback = true
	eth0 := on(2, "eth0", "10.0.0.5/24", "fd00::5/64", "fe80::1/64")
	eth1 := on(3, "eth1", "10.0.1.5/24", "fd01::5/64", "fe80::2/64")
	tests := []struct {
		name  string
		links []Link
		addr  string
		named string
		want  string
		err   error
	}{
		{name: "by IPv4 subnet", links: []Link{lo, eth0, eth1}, addr: "10.0.1.100", want: "eth1"},
		{name: "by IPv6 subnet", links: []Link{lo, eth0, eth1}, addr: "fd01::100", want: "eth1"},
		{name: "in no subnet", links: []Link{lo, eth0, eth1}, addr: "10.0.2.100", err: ErrNoSubnet},
		{name: "in no subnet, but named", links: []Link{lo, eth0, eth1}, addr: "10.0.2.100", named: "eth0", want: "eth0"},
		{name: "the name wins over the subnet", links: []Link{lo, eth0, eth1}, addr: "10.0.1.100", named: "eth0", want: "eth0"},
		{name: "no such name", links: []Link{lo, eth0, eth1}, addr: "10.0.1.100", named: "eth7", err: ErrNoInterface},
		{name: "the longest prefix wins", links: []Link{on(2, "a", "10.0.0.5/8"), on(3, "b", "10.0.0.6/24"), on(4, "c", "10.0.0.7/16")}, addr: "10.0.0.100", want: "b"},
		{name: "the longest prefix of one link counts", links: []Link{on(2, "a", "10.0.0.5/16"), on(3, "b", "10.0.0.6/8", "10.0.0.9/24")}, addr: "10.0.0.100", want: "b"},
		{name: "then the lowest index", links: []Link{on(9, "z", "10.0.0.5/24"), on(3, "a", "10.0.0.6/24")}, addr: "10.0.0.100", want: "a"},
		{name: "the default route's prefix is a subnet like any other", links: []Link{on(2, "a", "10.0.0.5/0"), on(3, "b", "10.0.0.6/24")}, addr: "10.0.0.100", want: "b"},
		{name: "a virtual address bound as /32 is no subnet", links: []Link{on(2, "a", "ours 10.0.0.100/32", "192.168.0.1/24")}, addr: "10.0.0.100", err: ErrNoSubnet},
		{name: "nor is another one of ours with its subnet", links: []Link{on(2, "a", "ours 10.0.0.99/24"), on(3, "b", "10.0.0.5/24")}, addr: "10.0.0.100", want: "b"},
		{name: "nor the address itself, untagged, with its subnet", links: []Link{on(2, "a", "10.0.0.100/24"), on(3, "b", "10.0.0.5/24")}, addr: "10.0.0.100", want: "b"},
		{name: "a host address implies no subnet", links: []Link{on(2, "a", "10.0.0.5/32")}, addr: "10.0.0.5", err: ErrNoSubnet},
		{name: "/31 does", links: []Link{on(2, "a", "10.0.0.4/31")}, addr: "10.0.0.5", want: "a"},
		{name: "loopback does not count", links: []Link{lo}, addr: "127.0.0.9", err: ErrNoSubnet},
		{name: "loopback when named", links: []Link{lo}, addr: "10.0.0.9", named: "lo", want: "lo"},
		{name: "IPv6 link-local is everywhere", links: []Link{lo, eth0, eth1}, addr: "fe80::100", err: ErrNoSubnet},
		{name: "IPv6 link-local when named", links: []Link{lo, eth0, eth1}, addr: "fe80::100", named: "eth1", want: "eth1"},
		{name: "IPv4 link-local is a subnet only where configured", links: []Link{on(2, "a", "169.254.1.5/16"), on(3, "b", "169.254.1.6/24")}, addr: "169.254.1.100", err: ErrNoSubnet},
		{name: "the peer's subnet of a point-to-point address", links: []Link{on(2, "ppp0", "10.9.0.1 192.168.7.7/24")}, addr: "10.9.0.100", want: "ppp0"},
		{name: "a link that is down keeps its subnet", links: []Link{{Index: 2, Name: "a", Addresses: eth0.Addresses}}, addr: "10.0.0.100", want: "a"},
		{name: "no links", addr: "10.0.0.100", err: ErrNoSubnet},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Choose(tt.links, netip.MustParseAddr(tt.addr), tt.named)
			require.ErrorIs(t, err, tt.err)
			assert.Equal(t, tt.want, got.Name)
		})
	}
}

func TestChooseErrorsSayWhatThereIsAndWhatToDo(t *testing.T) {
	links := []Link{on(2, "eth0", "10.0.0.5/24", "ours 10.0.9.1/24"), on(3, "eth1", "fd01::5/64")}
	_, err := Choose(links, netip.MustParseAddr("10.0.7.1"), "")
	assert.EqualError(t, err, "link: interface for 10.0.7.1: no interface has a subnet that contains it (there are: eth0 10.0.0.0/24, eth1 fd01::/64); name the interface it belongs on")
	_, err = Choose(links, netip.MustParseAddr("10.0.7.1"), "eth7")
	assert.EqualError(t, err, `link: interface "eth7": no such interface (there are: eth0, eth1); correct the name, or leave it out to choose by subnet`)
	for i := range 300 {
		links = append(links, on(10+i, fmt.Sprintf("veth%d", i)))
	}
	_, err = Choose(links, netip.MustParseAddr("10.0.7.1"), "eth7")
	assert.ErrorContains(t, err, "veth9, and 290 more)")
}

func TestAddressed(t *testing.T) {
	lo := on(1, "lo", "127.0.0.1/8", "::1/128")
	lo.Loopback = true
	tests := []struct {
		name  string
		links []Link
		like  string
		want  bool
	}{
		{name: "nothing", like: "10.0.0.1"},
		{name: "loopback and link-local only", links: []Link{lo, on(2, "eth0", "fe80::1/64")}, like: "fd00::1"},
		{name: "our leftovers only", links: []Link{lo, on(2, "eth0", "ours 10.0.0.100/32")}, like: "10.0.0.1"},
		{name: "the other family only", links: []Link{lo, on(2, "eth0", "10.0.0.5/24")}, like: "fd00::1"},
		{name: "a host address is an address", links: []Link{lo, on(2, "eth0", "10.0.0.5/32")}, like: "10.0.0.1", want: true},
		{name: "global IPv6", links: []Link{lo, on(2, "eth0", "fe80::1/64", "fd00::5/64")}, like: "fd00::1", want: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, Addressed(tt.links, netip.MustParseAddr(tt.like)))
		})
	}
}
