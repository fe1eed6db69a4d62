// Package pulse finds out within some 40 ms that the node of a holder is gone. VRRP waits for three advertisements, because silence is all that it
// has: a process that is late looks like a node that is dead. Here three things are asked.
//
//   - The process of the holder says that it is there, each 30 ms: the beat.
//   - The kernel of the holder answers an echo request (ICMP), whatever its processes do.
//   - Another member has found the same. In a group of two a host that answers, the witness, shows at least that the own link works.
//
// A beat that is late is no more than a reason to look. An answer to any echo, a beat, or the word of any member that it is there, and nothing
// happens. How long a beat may be late, and an answer, follows from what was seen in the last minute.
//
// machine.go judges, and is pure: own.go is what this node says of itself and how long it waits, peer.go what it knows of another node, look.go how it
// looks whether that is there. message.go is what members say to each other about it. echo.go is the socket for echoes, pulse.go the loop around the
// machine.
//
// Left out: who takes over, which the election decides; and signatures, which are the members'.
//
// # Goroutines
//
//   - Pulse: one, from Open to Close, which waits for it.
package pulse
