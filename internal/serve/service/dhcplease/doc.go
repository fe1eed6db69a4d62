// Package dhcplease has the holder of an entry keep leases for its IPv4 addresses at a DHCP server, so that the server gives them to nobody else. It
// begins after the addresses are bound, ends with the term, and nothing waits for it. No lease is released: it moves with the address.
//
// # Goroutines
//
//   - one per Service while this node serves, which begins when the one before it has ended;
//   - one that reads its socket, and which it waits for.
//
// Close waits for them.
package dhcplease
