// Package link adds, removes, lists, watches and fences IP addresses on this host's network interfaces.
//
// A Handle talks to the kernel over rtnetlink. Its snapshot (Links) is what everything else is decided from: Choose and Source are pure
// functions over it, so an interface that was renamed, or deleted and created again, is followed by taking another snapshot. Watch tells
// when one is worth taking.
//
// A virtual address must serve clients and nothing else. It is therefore added without a prefix route, and marked as deprecated, so that
// neither the kernel nor an agent that looks for "the" address of the node picks it as a source; and it carries a tag by which a later run
// finds it again, whatever became of the configuration in between.
//
// A Fence makes sure that the kernel stops answering for an address when this node's tenure is over, even if nobody is left to take it off.
// In the order of a life:
//
//	start     OpenFence with the groups, Bound for what an earlier run left; then Remove addresses, or Hold if they are adopted
//	Active    the first advertisement leaves and renews the lease; Add; announce; Hold, which need not be waited for
//	every third of the addresses' lifetime   Add again, Hold again; every second Check, and Rebuild if it says so
//	resigning Shut In; ResetTCP; Shut Out; Remove the addresses; Release
//	passing on   Shut Discovery; the taker announces; then as resigning
//	exit      Fence.Remove; after a crash CleanupFences
//
// Left out on purpose: deciding which node holds an address (package election), announcing it (package arp), routes, and creating links.
//
// The package keeps no goroutine of its own: each request runs on one that its caller waits for, and Watch blocks its caller. A Handle may be used from several goroutines.
package link
