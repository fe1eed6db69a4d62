// Package local is the elector of nodes that do not elect: each one serves while it is fit, whatever the others do. It is for an address that
// routers reach by several ways, each to one node, where a node that does not serve is one way less.
//
// It has no lease, and nobody to whom it could pass the address on. By itself it sends nothing and hears nobody. With [Config].Talk it knows
// how the other members are, and an unhealthy node goes on where no fit one is heard.
//
// The goroutine of Run decides. Beside it there is that of Talk, for which Run waits.
package local
