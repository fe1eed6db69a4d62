// Package spread serves connections to an instance's addresses on every member, whoever holds the addresses. It joins what the members say
// of themselves with what is seen of their hosts, makes the table of slots of it (internal/slots), and keeps that in the kernel
// (internal/spreadtables).
//
// A Service has one goroutine. What it decides by is pure: [roster] says what can be expected of each member, and [plan] makes the tables
// of it.
package spread
