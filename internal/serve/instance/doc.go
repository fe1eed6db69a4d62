// Package instance decides: it joins one election to one service for each entry of vips.
//
// What an operator wants, what the health checks say, and what keeps the service from serving become one fitness ([Config.combine]),
// which the elector is told. What the elector decides the service carries out ([Service]). An instance finds its place on this host,
// runs an election there for a term, and begins another one when the place has changed. It knows neither the kernel nor a protocol:
// places, electors, checks and services come as functions of its [Config].
//
// A [Set] has all instances of a process, and is what operators and scrapers ask.
//
// # Goroutines
//
//   - one per instance, from Run or Apply until it is removed or Run ends;
//   - one for each check of an instance, owned by the instance, which waits for it;
//   - one per term for Elector.Run, owned by the instance, which waits for it. It is the one that calls Service.Apply;
//   - one while this node looks at the addresses from outside: one at a time, which nobody waits for. It ends within a second;
//   - one while a command waits whose turn has been given to a later one; it ends when the earlier commands have.
package instance
