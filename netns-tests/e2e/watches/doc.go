// Package watches spreads the load over real apiservers, three of them and an etcd in namespaces without kubelets, and has real clients watch
// through the address while it moves.
//
// The tests have the build tag e2e and are run by `make e2e-watches`. Each of them starts its own apiservers.
package watches
