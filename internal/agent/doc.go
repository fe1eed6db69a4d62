// Package agent keeps the host equal to one sentence: the Active answers for the addresses, nobody
// else does.
//
// Each virtual address (or list of addresses that move together) is an Instance with a loop of its
// own. The loop finds the interface, runs an election there, and follows what the elector reports:
// bind and announce, or release. On every change of the host it plans again, so that a leftover, a
// stolen or a missing address is corrected by the same path.
//
// The agent sees the kernel, the wire and the health check through the small interfaces of host.go and
// instance.go; it imports none of them.
//
// # Goroutines
//
//   - one per Instance for its loop, from Apply until it is removed or Run ends;
//   - one for each check of an Instance, owned by the loop, which waits for it;
//   - one per term for the fence, owned by the loop, which waits for it;
//   - one while a holder forwards older connections; owned by the loop, which waits for it;
//   - one per release for the reset of connections; it ends by itself, at the latest with its system call;
//   - one per term in an election for Elector.Run, owned by the loop, which waits for it.
package agent
