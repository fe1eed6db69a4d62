// Package address is the service that holds addresses: it binds them on the node that the election has chosen, announces them there,
// defends them, and lets go of them. The Active answers for the addresses, nobody else does.
//
// A service is brought to each decision of an election. On every change of the host it plans again, so that a leftover, a stolen or a
// missing address is corrected by the same path. While it serves, it announces the addresses (announcer), keeps the fence of the kernel
// in step with the lease (termFence, fencer), and drains or forwards connections that another node began (drain, forwarding). In every
// term, serving or not, it looks for hosts that claim the addresses and take no part in the election (detector); that may block it.
//
// The service reaches the kernel and the wire through the small interfaces of host.go. It imports plain values of theirs
// alone, such as the schedule of announcements and the ports that pass the fence.
//
// # Goroutines
//
//   - one per service, from its making until Close: all of its state belongs to it;
//   - one per term for the fence, owned by the service, which waits for it;
//   - one while a holder forwards older connections, and one at its beginning for what the kernel is to forget; owned by the service, which
//     waits for both;
//   - one per conflict, until the foreign host has advertised, the term ends, or the Host gives up: it ends by itself;
//   - one per release for the reset of connections, which goes on after the release; the end of a term waits for it, for 5 s at most, and it ends at
//     the latest with its system call.
package address
