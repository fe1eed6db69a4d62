// Package intercept has a host reach a virtual address without the host that holds it: what programs here connect to the address is
// translated, by nftables, to one of the servers behind it. It is told which of them are healthy, and decides nothing.
//
// What is there ends by itself when nobody renews it, and what is no more intercepted goes to the virtual address by the network, as without
// these tables. Connections that were translated go on all the same, for the kernel knows each of them.
//
// There is one table for each address family, keepvip-intercept-NAME. On a host that spreads the load of the same address, too
// (keepvip-spread-NAME), these tables come first, and the kernel translates a connection once.
//
// A Keeper of nfttables makes the tables, and keeps them. The package starts no goroutine. It needs CAP_NET_ADMIN.
package intercept
