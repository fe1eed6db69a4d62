package link

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
)

// found turns an answer into text, so that "none" and an address compare alike.
func found(a netip.Addr, ok bool) string {
	if !ok {
		return "none"
	}
	return a.String()
}

func TestSource(t *testing.T) {
	tests := []struct {
		name string
		link Link
		like string
		want string
	}{
		{name: "none", link: on(2, "eth0"), like: "10.0.0.100", want: "none"},
		{name: "the primary", link: on(2, "eth0", "10.0.0.5/24", "secondary 10.0.0.6/24"), like: "10.0.0.100", want: "10.0.0.5"},
		{name: "the one in the address's subnet", link: on(2, "eth0", "192.168.0.5/24", "10.0.0.5/24"), like: "10.0.0.100", want: "10.0.0.5"},
		{name: "the first if the address is in none", link: on(2, "eth0", "192.168.0.5/24", "10.0.0.5/24"), like: "172.16.0.1", want: "192.168.0.5"},
		{name: "a host address will do", link: on(2, "eth0", "10.0.0.5/32"), like: "10.0.0.100", want: "10.0.0.5"},
		{name: "not ours", link: on(2, "eth0", "ours 10.0.0.100/32", "10.0.0.5/32"), like: "10.0.0.100", want: "10.0.0.5"},
		{name: "IPv6: link-local", link: on(2, "eth0", "10.0.0.5/24", "fd00::5/64", "fe80::5/64"), like: "fd00::100", want: "fe80::5"},
		{name: "IPv6: not while tentative", link: on(2, "eth0", "tentative fe80::5/64"), like: "fd00::100", want: "none"},
		{name: "IPv6: not a duplicate", link: on(2, "eth0", "dadfailed fe80::5/64", "fe80::6/64"), like: "fd00::100", want: "fe80::6"},
		{name: "IPv6: not a virtual link-local", link: on(2, "eth0", "ours fe80::100/128", "fe80::6/64"), like: "fe80::100", want: "fe80::6"},
		{name: "IPv6: global only", link: on(2, "eth0", "fd00::5/64"), like: "fd00::100", want: "none"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, found(Source(tt.link, netip.MustParseAddr(tt.like))))
		})
	}
}

func TestSourceToward(t *testing.T) {
	tests := []struct {
		name string
		link Link
		peer string
		want string
	}{
		{name: "IPv4: as Source", link: on(2, "eth0", "192.168.0.5/24", "10.0.0.5/24"), peer: "10.0.0.7", want: "10.0.0.5"},
		{name: "a link-local peer: link-local", link: on(2, "eth0", "fd00::5/64", "fe80::5/64"), peer: "fe80::7", want: "fe80::5"},
		{name: "a global peer: in its subnet", link: on(2, "eth0", "2001:db8::5/64", "fd00::5/64", "fe80::5/64"), peer: "fd00::7", want: "fd00::5"},
		{name: "a global peer elsewhere: the first", link: on(2, "eth0", "fe80::5/64", "2001:db8::5/64", "fd00::5/64"), peer: "fd09::7", want: "2001:db8::5"},
		{name: "not a temporary one", link: on(2, "eth0", "secondary 2001:db8::aaaa/64", "2001:db8::5/64"), peer: "2001:db8::7", want: "2001:db8::5"},
		{name: "a deprecated one if there is no other", link: on(2, "eth0", "deprecated fd00::5/64"), peer: "fd00::7", want: "fd00::5"},
		{name: "none", link: on(2, "eth0", "fe80::5/64", "ours fd00::100/128"), peer: "fd00::7", want: "none"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, found(SourceToward(tt.link, netip.MustParseAddr(tt.peer))))
		})
	}
}
