// Package gather reads what a host has and hears, for package internal/tools/doctor to judge.
//
// It changes nothing: it adds no address, leaves no table of nftables, and sends nothing but questions of ARP and neighbour discovery that
// change nobody's cache, and a report that it joins VRRP's groups. It works beside a running keepvip, whose sockets get what they would have got without it,
// and takes no part in the election. Whatever cannot be read is left out: on a host on which little is permitted little is known.
//
// # Goroutines
//
//   - one for each gatherer, one for each socket; [Gather] waits for all of them.
package gather
