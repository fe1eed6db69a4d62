// Package trial runs a router daemon (keepvip, or keepalived for comparison)
// on the nodes of a lab, breaks something, and reduces the measurement to the
// figures that people compare: outage, takeovers, time with two nodes
// answering. Tests, the demo and the benchmark share it.
//
// A [Group] is the daemons of one virtual address; a fault is a function from a
// running group to a [Result]. Faults leave the group running and whole again,
// so that they can be repeated.
//
// A step that must not fail is taken with package try. It starts no goroutine
// of its own.
package trial
