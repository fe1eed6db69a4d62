// Package vrrp speaks the Virtual Router Redundancy Protocol, version 3 (RFC 9568, IPv4 and IPv6) and
// version 2 (RFC 3768, IPv4).
//
// It has three parts that know little of each other:
//
//   - the codec: [Advertisement], [Advertisement.Append] and [Parse], bytes and nothing else;
//   - the state machine: [Machine], pure, with the time as an argument, no clock and no I/O;
//   - the socket: [Conn], a raw socket for one interface and one address family.
//
// Beside the codec stands [Auth], which signs advertisements with an HMAC, and verifies them.
//
// The caller joins them: it reads datagrams, parses them, steps the machine, and carries out the actions in
// their order. docs/rfc9568.md lists the RFC's requirements, the tests that show them, and the differences.
//
// Left out: the virtual MAC address, Router Advertisements, the answering of ARP and neighbour solicitations (the
// kernel does that for an address that is bound), and the binding of addresses.
//
// The package starts no goroutine and logs nothing. A Machine belongs to one goroutine. A Conn may be waited on
// by one goroutine and drained and written by another.
package vrrp
