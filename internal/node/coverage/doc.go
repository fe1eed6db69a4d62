// Package coverage tells whether clients of a virtual address are served where they connect: whether a program of this host listens at the address, by
// what the kernel lists. A service that is bound to the node's own address is well by every check, and refuses all of them.
//
// Connections that are spread are translated to the node's own address, so their ports are none of this package's: the spread service looks at them.
//
// The package starts no goroutine.
package coverage
