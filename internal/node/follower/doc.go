// Package follower sends the connections of this host to a virtual address straight to the members that are fit for them, each to the one whose turn
// it is. The host is no member: it takes no part in an election, holds no address, and asks members who they are (members/subscription).
//
// What it does is in the kernel (internal/kernel/intercept), for seconds at a time: without this process connections go to the virtual address on the
// wire again, as on a host that does not follow.
//
// What decides is pure: [subscription.Machine] knows what members say, and choose makes of that, and of what probes have seen from here, who gets
// connections. A probe can only keep a member from getting any, as long as a member says anything.
//
// # Goroutines
//
//   - Run uses its caller's for all that it decides, and waits for those that serve the socket, and that tell the service manager.
//   - One for each probe that is under way, for probeTime at most.
package follower
