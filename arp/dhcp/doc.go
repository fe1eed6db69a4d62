// Package dhcp keeps the lease of a known IPv4 address at a DHCP server (RFC 2131). It asks for no address and sets none up: it has a server know
// that the address is in use, and by which client identifier.
//
// A [Keeper] decides what to say and when. It has no clock and no socket. A [Message] is what is said, and a [Conn] is a packet socket, for which the
// address need not be bound.
//
// The package starts no goroutine. It does not know relays: a server behind one is answered by way of the host that its answer came from. DHCPv6 is
// left out.
package dhcp
