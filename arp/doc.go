// Package arp is ARP for IPv4 (RFC 826, RFC 5227) and neighbour discovery for IPv6 (RFC 4861) as far as a virtual address needs them: it tells
// the neighbours on a link who answers for the address, asks them who has it, and hears who claims it.
//
// A Conn sends one announcement (gratuitous ARP, or an unsolicited neighbour advertisement), or asks whether an address is taken; a Schedule,
// which is pure, says when to announce again. An Asker asks one neighbour, as a router, whether it is there. A Listener hears who else on the link claims an address.
//
// Left out on purpose: adding the address to the interface (package internal/kernel/link), and deciding who may announce it (package election).
// Links other than Ethernet have no neighbours to tell, and Open refuses them.
//
// A Listener runs a goroutine for each address family that is watched, and Close waits for them; nothing else starts any. The package needs CAP_NET_RAW.
package arp
