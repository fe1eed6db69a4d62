package config

import (
	"cmp"
	"net/netip"
)

// DHCP is about leases of a DHCP server for the IPv4 addresses.
type DHCP struct {
	Lease    bool   // the holder keeps them
	ClientID string // "": one by the address, see [VIP.ClientIDOf]
}

func dhcpOptions() []Option {
	return []Option{
		option("vips[].dhcp.lease", "dhcp", "false", live, one(boolean(), func(t target) *bool { return &t.vip.DHCP.Lease }),
			"The holder keeps a lease of each IPv4 address at the network's DHCP server, so that the server gives the address to nobody else; "+
				"the address is the one that is configured, and stays where it is whatever a server says (docs/dhcp.md)").short(),
		option("vips[].dhcp.clientID", "dhcp-client-id", "", live, one(pattern("text", `^[!-~]{1,64}$`, "1 to 64 printable characters without blanks"), func(t target) *string { return &t.vip.DHCP.ClientID }),
			"The client identifier (RFC 2132, option 61) of the lease, the same on all nodes, for an entry with one IPv4 address; it is sent behind a byte 0. Without it keepvip- and the address"),
	}
}

// ClientIDOf is the client identifier of an address's lease.
func (v VIP) ClientIDOf(a netip.Addr) string { return cmp.Or(v.DHCP.ClientID, "keepvip-"+a.String()) }

// dhcp refuses leases that nobody would keep, or no server grants.
func (k vipValidator) dhcp() {
	const key = "dhcp.lease"
	v, leases := k.v, 0
	for _, p := range v.Addresses {
		if p.Addr().Is4() {
			leases++
		}
	}
	switch {
	case !v.DHCP.Lease && v.DHCP.ClientID != "":
		k.fail("dhcp.clientID", "set without dhcp.lease, by which it is used; want both or neither")
	case !v.DHCP.Lease:
	case v.External():
		k.fail(key, "true with mode external, by which keepvip holds no address; want false")
	case v.HooksOnly:
		k.fail(key, "true with hooksOnly, by which keepvip binds nothing; want false")
	case v.Local():
		k.fail(key, "true with election local, by which several nodes have the address; want false")
	case len(v.Elsewhere) > 0:
		k.fail(key, "true with elsewhere, want false, or an entry for each interface with the same group")
	case leases == 0:
		k.fail(key, "true, and there are IPv6 addresses alone, for which keepvip keeps no lease (DHCPv6); want an IPv4 address in addresses, or false")
	case leases > 1 && v.DHCP.ClientID != "":
		k.fail("dhcp.clientID", "one for %d IPv4 addresses, and a server gives one lease to a client; want an entry for each address, or none", leases)
	}
}
