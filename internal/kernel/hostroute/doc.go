// Package hostroute keeps routes to single addresses, /32 and /128, in a routing table of the kernel, for a routing daemon of this host (BIRD,
// FRR) to tell routers of. They say that this host takes packets for the address; no packet of the kernel itself goes by them, unless the table
// is the main one.
//
// The routes hang on a TUN device that this process holds open, so that the kernel takes them away when the process dies, however it dies. Where no
// TUN device can be made they hang on the loopback device, and outlive a process that is killed.
//
// The package starts no goroutine. It needs CAP_NET_ADMIN. Addresses and their announcing on the link are the business of others.
package hostroute
