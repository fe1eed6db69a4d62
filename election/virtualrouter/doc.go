// Package virtualrouter is the elector by VRRP (RFC 9568, RFC 3768), which passes the address on without loss among nodes that speak
// the members' protocol, too.
//
//   - machine*.go, handover*.go, telling.go, split.go: one pure machine, which joins vrrp.Machine to members.Machine; agenda.go is the
//     order in which it does things;
//   - lifeline.go, pulse.go: its watch judges the end of the Active; hearing.go judges whether this node hears; answers.go judges the holder;
//   - senders.go, roster.go, claims.go, holder.go: what it knows of the others; cause.go explains from that why the holder changes;
//   - fitness.go, candidate.go, leaving.go, recall.go: what its own fitness is made of;
//   - elector.go, slow_bind.go, probes.go: the loop around it;
//   - hub*.go, mailbox.go, wire.go: several Virtual Routers share one socket per interface, family and source address, a [Hub];
//   - group*.go: a [Group] keeps the addresses of several elections on the same node.
//
// # Goroutines
//
//   - Hub: one reader per open socket, from the first Join until the last wire is closed, which waits for it.
//   - Elector.Run: it runs in its caller's goroutine; with members, one for a fresh probe at a time, which it waits for.
//   - One while the host binds very many addresses, so that advertisements leave meanwhile: Elector.Run waits for it.
package virtualrouter
