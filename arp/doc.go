// Package arp tells the neighbours on a link who answers for an IP address: by gratuitous ARP for IPv4 (RFC 826, RFC 5227) and by
// unsolicited neighbour advertisement for IPv6 (RFC 4861 7.2.6).
//
// A Conn sends one announcement, or asks whether an address is taken; a Schedule, which is pure, says when to announce again. A Listener hears
// who else on the link claims an address.
//
// Left out on purpose: adding the address to the interface (package internal/link), and deciding who may announce it (package election).
// Links other than Ethernet have no neighbours to tell, and Open refuses them.
//
// A Listener runs a goroutine for each address family that is watched, and Close waits for them; nothing else starts any. The package needs CAP_NET_RAW.
package arp
