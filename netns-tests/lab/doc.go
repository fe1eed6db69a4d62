// Package lab builds a small network in Linux network namespaces, runs real
// programs in it, breaks it on purpose, and measures what a client sees.
//
//	          sw (bridge)
//	+-----+-----+----+------+-------+
//	n1    n2    n3   c1   monitor   r1 --- c2
//
// Nodes n1..nN (10.77.0.11.., fd77::11..) run the program under test. c1 is an
// on-link client with an ordinary neighbour cache, c2 a client behind the
// router r1. The monitor asks every node directly by its MAC address, so it
// sees who answers whatever any neighbour cache says, and disturbs no cache.
//
// A Measurement runs next to a fault and ends in a Report: probes lost, the
// longest outage, who answered, time with two nodes answering, announcements,
// VRRP advertisements, and when addresses were bound. Measuring threads run
// with SCHED_RR, and their own lateness is part of the report, so a stall of
// the machine is not mistaken for an outage.
//
// What is left out: queueing delay (no netem on every kernel), VLANs, bonds.
//
// # Processes and clean-up
//
// The lab needs root. [Enter] must be called first in main or TestMain: the
// lab starts its helpers (the stand-in apiserver, the reaper) by running its
// own executable again. The reaper, one for all labs of a process, waits for the
// end of that process and removes what a panic, a Ctrl-C or a SIGKILL left behind;
// a run whose reaper died as well is removed by the next [Host.Open].
//
// # Goroutines
//
// One per namespace (locked to a thread inside it), one for the echoes of a node, one per stream, direct prober, capture, greeter and client
// with connections, one for the addresses of all nodes in a measurement, and one per started process. All of them end in [Lab.Close] or
// [Measurement.Stop]. Each that measures wakes the runtime a hundred times a second, also while it waits: new ones are to be few.
package lab
