// Package fence is the nftables lease: the kernel silences an address when its holder is gone. Beside it only internal/kernel/spreadtables and
// internal/kernel/intercept speak nftables.
//
// A fence makes sure that the kernel stops answering for an address when this node's lease is over, even if nobody is left to take it off.
// In the order of a life:
//
//	start     Links.Join, bound for what an earlier run left; then remove addresses, or Hold if they are adopted
//	Active    the first advertisement leaves and renews the lease; add the addresses; announce; Hold, which need not be waited for
//	every third of the addresses' lifetime   add them again, Hold again; every second Verify, and Mend if it says so
//	resigning ShutIn; reset TCP connections; ShutOut; remove the addresses; Release
//	passing on   ShutDiscovery; the taker announces; then as resigning
//	exit      Close; after a crash Cleanup
//
// Links keeps one linkFence for each link. Each holder of addresses joins its link with one group, and has its Share of the fence; changes that
// several ask for at the same moment are made as one.
//
// A Forwarding is another table: while connections to the former holder of an address live on, it forwards their packets there.
//
// A linkFence has the lock. What it is to be is a wanted, which knows no kernel; what of it is there, and the way there, is an inKernel. How the former
// is said in nftables are tables, a linkTable and an arpTable; an inspector compares both, and generations spare it most of that. Where the kernel can, nobody else can
// change the tables. Elsewhere a Watch of nfttables tells of each change, and a fence that is gone is made anew by its goroutine (follow.go).
//
// It is not kept by a Keeper of nfttables: its leases are changed by advertisements and not by this process, and its guards and leases go on with what was left
// of each when it is made anew.
//
// The package keeps no other goroutine: each request runs on one that its caller waits for. A Share belongs to one.
package fence
