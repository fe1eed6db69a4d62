// Package routing asks the routing daemons of this host, BIRD 2 and FRR, whether they take routes of the kernel, and tell their routers of them. It asks
// by their own control sockets, read-only, for a second and a megabyte at most, and decides nothing.
//
// The package starts no goroutine.
package routing
