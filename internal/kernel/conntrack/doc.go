// Package conntrack reads the kernel's table of tracked connections, and deletes entries of it. It keeps none of them in memory.
//
// The package starts no goroutine. It needs CAP_NET_ADMIN.
package conntrack
