// Package control answers operators and machines: status and verbs on a unix socket, liveness,
// readiness and metrics on a loopback listener, and metrics alone to other hosts where that is configured. Balancers have a listener of their
// own, which says whether this node should get connections.
//
// The unix socket speaks HTTP with JSON. Whoever can open the socket may read (the socket has mode 0660
// in a directory of mode 0750); a verb that changes something is for root alone, by the peer
// credentials that the kernel attests.
//
// # Goroutines
//
//   - the sockets of a Listener at one address of the loopback interface: one each, until the Listener is closed.
//   - Server.Serve and Listener.Serve: net/http's, one per connection, of which the number is bounded, until Serve returns.
package control
