// Package spread has connections to an instance's addresses served by every member, whoever holds the addresses, or by backends that run no
// keepvip. It joins what the members say of themselves with what is seen of their hosts, makes the table of slots from that (internal/slots),
// and keeps the table in the kernel (internal/spreadtables).
//
// The decisions are pure: [roster] says what can be expected of each member, and [plan] makes the tables from that.
//
// # Goroutines
//
//   - A Service has one, which owns its state, and for which Close waits.
//   - One for each question to the host of a member or backend, which ends within 50 or 250 ms.
//   - One for each backend that is checked, until the backend is no more in the configuration, or the service ends.
//   - One at a time that counts connections; it ends when the kernel has listed them.
//
// The first one waits for all others in the end.
package spread
