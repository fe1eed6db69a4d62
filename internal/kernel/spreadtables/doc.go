// Package spreadtables spreads the load of addresses over several nodes in the kernel, by nftables. It is told who gets which slot
// (members/slots), and decides nothing.
//
// There are two parts to play, and each node plays both:
//
//   - The receiver is the node that gets the packets of an address from the network, most often its holder. Of a port that is spread it
//     sends each packet to the member that owns the packet's slot: as it came in, at the link, before connection tracking.
//   - A member translates address and port into its own address and the target port, and answers straight to the client. What belongs
//     to no connection that it knows it sends on, once, to the member that may know it (the second chance).
//
// As all nodes have the same table at all times, it makes no difference to a connection who the receiver is, or that it changes. What is
// left of a connection in the kernel is its entry of connection tracking, on the one node that has its socket.
//
// There are up to three tables of one name, keepvip-spread-NAME, NAME being that of the entry under vips: netdev for the receiver, ip and
// ip6 for members. Everything in them is inert without the elements of the timed set ports, which end by themselves when nobody renews them.
// New connections are then what they would be without these tables; those in translation go on at the node that has them.
//
// A Config is rendered to tables, with a roster of each family for who has which slot. Connections are read and ended by what was applied last.
//
// A Keeper of nfttables makes the tables, and keeps them. The package starts no goroutine. It needs CAP_NET_ADMIN.
package spreadtables
