// Package local is the elector of nodes that do not elect: each one serves while it is fit, whatever the others do. It is for an address that
// routers reach by several ways, each to one node, where a node that does not serve is one way less.
//
// It sends nothing and hears nobody, so it has no lease, no members and nobody to whom it could pass the address on.
//
// The goroutine of Run is the only one.
package local
