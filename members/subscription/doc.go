// Package subscription lets hosts that are no members know who the members of a virtual address are, and what can be expected of each. A
// follower asks members for it; a member tells it as long as it is asked, at each change and, so that its silence can be noticed, in between
// (docs/protocol.md, "Followers").
//
//	follower                      member
//	SUBSCRIBE (no cookie)    ->
//	                         <-   COOKIE        no longer than what was asked
//	SUBSCRIBE (the cookie)   ->
//	                         <-   MEMBERS       at once, at each change, at each interval, until the lease is over
//
// [Publisher] is the member's side and [Machine] the follower's. Both are pure: they have no clock, no socket and no goroutine. [Server] is the loop
// around a Publisher.
//
// The messages have a key of their own, which is derived from that of the members. Who has it can ask and be asked, and nothing else: no
// other message of a member is signed with it.
//
// # Goroutines
//
//   - Server has one that opens the sockets and then does what is due, and one that reads each socket, while it serves a group. Drop waits for them.
//   - Client has one for each socket. Close waits for them.
package subscription
