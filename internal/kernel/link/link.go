package link

import (
	"net"
	"net/netip"
	"time"
)

// Link is one network interface as a snapshot saw it.
type Link struct {
	Index     int
	Name      string
	AltNames  []string         // further names, by which the kernel finds it, too (Linux 5.5)
	MAC       net.HardwareAddr // empty on a link without link-layer addresses
	Up        bool             // administratively up, and with carrier
	set       bool             // administratively up
	Carriers  uint32           // how often the carrier has come or gone (Linux 3.15); two snapshots with the same one saw the same stay
	Loopback  bool
	Master    int       // index of the bridge, bond or VRF this link is a port of; 0 when it is none
	Kind      string    // such as "bridge" or "macvlan"; empty for a device of hardware
	Below     int       // index of the link that this one is on, such as that of a macvlan; 0 when there is none in this network namespace
	Alias     string    // what an operator or a program has written to it (ifalias)
	Addresses []Address // in the kernel's order, which is the order in which it considers them as sources
}

// Address is one IP address of a Link.
type Address struct {
	Prefix     netip.Prefix  // the local address and its prefix length; not masked
	Peer       netip.Addr    // the other end of a point-to-point address (the prefix length is then the peer's); else the zero Addr
	Ours       bool          // carries the tag that Handle.Add sets
	Secondary  bool          // IPv4: another address of the same subnet comes first; IPv6: a temporary address (RFC 8981)
	Tentative  bool          // IPv6: duplicate address detection has not finished (RFC 4862 5.4)
	DadFailed  bool          // IPv6: duplicate address detection found another owner
	Deprecated bool          // the preferred lifetime is over: never to be picked as a source (RFC 4862 5.5.4)
	Valid      time.Duration // what is left of the valid lifetime, in whole seconds; 0 is for ever
}

// Subnet is the on-link subnet that the address implies, masked. It is not valid for a host prefix (/32, /128), which implies none.
func (a Address) Subnet() netip.Prefix {
	at := a.Prefix.Addr()
	if a.Peer.IsValid() {
		at = a.Peer
	}
	if a.Prefix.Bits() == at.BitLen() {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(at, a.Prefix.Bits()).Masked()
}
