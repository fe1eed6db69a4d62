// Package route serves an address that routers send to this node: it puts a route to the address into a table of the kernel, which a routing daemon
// of this host tells routers of, and has what arrives for the address translated to the node's own one. Nothing is bound, and nobody is told on
// the link. The address is none of this node: no socket has it, and connections outlive the route.
//
// The route comes last when this node begins to serve, and goes first when it ceases. What routers still send then is translated for a moment more
// where the programs behind the address are well, and handed back to the network where they are not.
//
// A Service has one goroutine, from New to Close. It reads the route back each second.
package route
