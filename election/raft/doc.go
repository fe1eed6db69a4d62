// Package raft decides by a majority of members whether this node is Active.
//
// A Node is this machine's part in the cluster, one for the process: its store, its listener, and the library
// (hashicorp/raft), which elects a leader. The virtual addresses elected by it move together, to the leader; each has an
// Elector. The replicated log has nothing in it but who may be a member.
//
// A Node is made of parts, each of which knows only those named before it: cluster (the library), addresses (what this node is to
// hold), lease (until when it may), gossip (what the members say of themselves, as a view), transfer (leadership passed on),
// membership (who is a member), bootstrap (how this node gets in).
//
// The lease of a leader is not the library's. It rests on the vote locks of the others, and transport, between the library and
// the wire, keeps both: see voteLock and acks. What travels beside raft, over the same port, is how fit each member is, the
// leader's word that it lets go, and requests to be let in: see message.
//
// In these files raft.X is the library's: a package has no name for itself.
//
// Left out: more than one cluster in a process, and addresses of different clusters on one listener.
//
// # Goroutines
//
//   - Node.Run, in its caller's goroutine, and below it, all waited for before it returns: one that accepts, one for each
//     handshake and for each member's connection with questions, one for each question that is being asked, one that nudges
//     elections, and one at a time for a change of the membership and for passing leadership on;
//   - transport.start: one that hands on what arrives, until Close, which waits for it;
//   - one while the library is asked whether this node still leads: it ends with the answer, and nothing waits for it;
//   - the library's own, until Node.Run shuts it down;
//   - Elector.Run: none of its own.
package raft
