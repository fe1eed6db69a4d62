// Package localproxy listens on loopback and connects those who come to one of several servers: for clients that cannot be told the virtual
// address, or where nothing may be put into the kernel's tables. It is told which servers are healthy. On a member it is told of none, and connects all
// clients to the virtual address: there the kernel's tables know the servers.
//
// It looks at nothing that goes through it. Each direction ends by itself: what one side ends for writing is ended for the other. A connection
// that breaks on one side is broken on the other, with a reset.
//
// Goroutines: one for each listener, one while a server is looked for, and then two for each connection. Close waits for all of them.
package localproxy
