// Package health probes the local apiserver, or any local service, and turns the results into this node's fitness.
//
// A [Prober] takes one look; a [Gate], which is pure, counts; a [Checker] repeats the one into the other. What real apiservers
// answer shaped the rules: 200 is healthy; 401 is healthy, because a server that asks who we are is alive; 403 is ill,
// because that is what an apiserver answers anonymously until it has loaded its roles; a refused connection means that no
// process listens, which needs no second look; everything else is counted.
//
// Further kinds of check are further Probers. Left out: what a node does with its fitness, which is the elector's business,
// and several checks for one address.
//
// Goroutines: Run uses its caller's and starts none. The HTTP client has its own while a request lasts; each probe closes its
// connection, which ends them.
package health
