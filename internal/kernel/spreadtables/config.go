package spreadtables

import (
	"net"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/members/slots"
)

// Config is what the tables of one entry under vips are to do. All nodes must have the same Addresses, Ports, Slots and Seed, and the same
// members behind the indices of Slots; the order of Addresses and Ports makes no difference.
type Config struct {
	// Link and Index are the interface on which the addresses are, and through which this node reaches the other members.
	Link  string
	Index int
	// Addresses are those that are spread, of either family; this node need not have them.
	Addresses []netip.Addr
	// Ports are those that are spread. What comes in for any other is served by the receiver, as without these tables.
	Ports []Port
	// Self are this node's own addresses, at most one of each family: what its services see as the destination. In a family without
	// one this node serves nothing, and sends on what it receives. Without any nothing is done.
	Self []netip.Addr
	// Members are in the order that the indices in Slots mean. This node is among them, if it is a member.
	Members []MemberAt
	// Slots are who gets which packet. Nil: each receiver serves all by itself, and only translates.
	Slots *slots.Table
	// Ending: nothing new is spread. Slots are of the connections that there are; a new one to an address is the receiver's own, and is
	// not translated: that of a service that listens on the address, as without these tables.
	Ending bool
	// Seed is mixed into the hash, so that clients are divided otherwise at another address. It is no secret: who looks for it can choose the
	// member that serves him, by his source port.
	Seed uint32
	// Lifetime is how long the tables do something without being renewed. At least a second.
	Lifetime time.Duration
	// Unbound: no host has the addresses, and routers send packets for them to the members. What comes in at another link than Link, as from pods, is this
	// node's own then, if it has a slot, and otherwise goes on by the network.
	Unbound bool
	// NeverHolds: only other nodes have the addresses, which may serve nothing. A connection that begins at another link than Link, as in a pod, is this
	// node's own then, if it has a slot. Sent on from here it would look like what a member has decided about, and the receiver would keep it.
	NeverHolds bool
	// Masquerade has the holder translate new connections to the members' addresses, and the client's into its own, so that all packets of
	// them go by the holder. The kernel has to forward (see Forwards).
	Masquerade bool
}

// Port is one that is spread.
type Port struct {
	Protocol uint8  // 6 (TCP) or 17 (UDP, which has no second chance: no packet of it tells whether it begins something)
	Port     uint16 // of the address, to which clients connect
	Target   uint16 // of each member's own address, where the service listens
}

// MemberAt says where a member is.
type MemberAt struct {
	// Addresses are its own, at most one of each family. Slots of a member without one of a family are those of the others, in that family.
	Addresses []netip.Addr
	// MAC is the source of its frames, by which they are told from those of clients: what a member has sent on is never spread again. With
	// none here, what goes to that member is marked instead (see docs/spread.md), which takes a little longer.
	MAC net.HardwareAddr
	// Self: this node.
	Self bool

	// What follows is looked at with Masquerade alone.

	// Sources are this node's own addresses toward the member, of each family one at most; a family without one is not used.
	Sources []netip.Addr
	// Target is where the service listens, if not at the target of the port; 0: there.
	Target uint16
}

// Abilities are what this kernel does of it. What it does not do is done more slowly or not at all.
type Abilities struct {
	// Ingress: packets are sent on at the link. Without it (no CONFIG_NFT_FWD_NETDEV) behind it, which takes half as long again.
	Ingress bool
	// SecondChance: connection tracking takes up connections in their midst (net.netfilter.nf_conntrack_tcp_loose is not 0). Without it what
	// belongs to no connection of any member is dropped, so the clients of one that died are not told.
	SecondChance bool
	// Sockets: a connection of a socket on the address itself is told from one that is to be translated, also where connection tracking has
	// not seen it before. Without it (no CONFIG_NFT_SOCKET) such connections end when their address begins to be spread.
	Sockets bool
}
