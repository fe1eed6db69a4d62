// Package localconn ends connections of this host's own programs that the kernel translates to a server of which nothing will be heard any more. A
// program that only reads would wait for as long as its own timeouts say.
//
// No goroutine. It needs CAP_NET_ADMIN.
package localconn
