// Package drill measures what a client sees of a failover that is made on purpose: connections to the address, one every few
// milliseconds, and the longest time in which none was answered. The arithmetic ([outages]) is apart from the sockets ([Prober]).
//
// # Goroutines
//
//   - Prober.Run: none of its own but one for each connection that is being made, of which there are few (see [Prober]); it waits for them.
package drill
