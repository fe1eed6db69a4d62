// Package election decides whether this node is Active for a virtual address.
//
// It has one interface, Elector, and an elector that speaks VRRP. What the address is, how it is bound
// and announced, and how health is measured is not its business: it tells by Decision when to hold the
// address, and is told by Fitness how good this node would be at it.
//
// Several Virtual Routers share one socket per interface, family and source address: a Hub.
//
// # Goroutines
//
//   - Hub: one reader per open socket, from the first Join until the last wire is closed, which waits for it.
//   - VRRP.Run: it runs in its caller's goroutine; with members, one for a fresh probe at a time, which it waits for.
//   - One while the host binds very many addresses, so that advertisements leave meanwhile: VRRP.Run waits for it.
package election
