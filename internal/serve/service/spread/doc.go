// Package spread has connections to an instance's addresses served by every member, whoever holds the addresses, or by backends that run no
// keepvip. It joins what the members say of themselves with what is seen of their hosts, makes the table of slots from that (members/slots),
// and keeps the table in the kernel (internal/kernel/spreadtables).
//
// A [Service] is told what to do by any goroutine (queue), and does it in one of its own: that of server, which joins the parts. Each part belongs to that
// goroutine, is called by server, and calls neither server nor another part:
//
//   - roster: what can be expected of each member. It is pure.
//   - backends: the same of servers without keepvip, which it asks.
//   - plan: the rows of the tables, made of the members. It is pure, and so are the tables of slots (slotTable).
//   - kernel: the tables in the kernel, and what masquerading wants of this host (forwarding).
//   - counter: the connections of the tables, for an operator who drains this node.
//   - remaining: the members that get no new connections from here, for operators who drain these. It is pure.
//   - followers: what hosts are told that are no members.
//   - teller: what clients are told whose connections nobody has any more.
//   - notes: the lines of the log about what others can bring about.
//
// What this node says to the other members has a lock (spreader): a term ends without waiting for the service's goroutine.
//
// # Goroutines
//
//   - A Service has one, which owns its state, and for which Close waits.
//   - One for each question to the host of a member or backend, which ends within 50 or 250 ms.
//   - One for the clients of members that have died at one moment, who are asked twice, within a second.
//   - One for each table, for this host's own connections to members that have died at one moment: it ends them, and tries three times at most.
//   - One for each backend that is checked, until the backend is no more in the configuration, or the service ends.
//   - One at a time that counts connections; it ends when the kernel has listed them.
//
// The first one waits for all others (jobs) in the end.
package spread
