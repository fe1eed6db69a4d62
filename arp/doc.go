// Package arp tells the neighbours on a link who answers for an IP address: by gratuitous ARP for IPv4 (RFC 826, RFC 5227) and by
// unsolicited neighbour advertisement for IPv6 (RFC 4861 7.2.6).
//
// A Conn sends one announcement; a Schedule, which is pure, says when to repeat it.
//
// Left out on purpose: adding the address to the interface (package internal/link), and deciding who may announce it (package election).
// Links other than Ethernet have no neighbours to tell, and Open refuses them.
//
// The package starts no goroutine. It needs CAP_NET_RAW.
package arp
