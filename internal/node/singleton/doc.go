// Package singleton lets one keepvip run in each network namespace: two would remove each other's addresses and rebuild each
// other's fence.
//
// Two things are taken, both of which the kernel scopes by network namespace and gives back when the process ends, even by
// SIGKILL. An abstract unix socket tells a second process who runs. Any local user may bind its name first, so it cannot be all:
// a fanout group of packet sockets, which only CAP_NET_RAW may open, is what nobody without privileges can take.
//
// # Goroutines
//
//   - Lock.Serve uses its caller's.
package singleton
