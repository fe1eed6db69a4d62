package code

// KV37x: causes of a split, and of claims, that are in the configuration or on the host, and not on the way.
const (
	BehindRouter  Code = "KV370"
	MemberClaims  Code = "KV371"
	PortOfAnother Code = "KV372"
	ForwardedLate Code = "KV373"
	AddressesVary Code = "KV374"
)

func wireCauses() []Entry {
	return []Entry{
		{
			BehindRouter, "behind-router", "Packets of a node for this address are refused because they came through a router: their hop limit is less than vrrp.minTTL.",
			"Look at REJECTED in the status: it names the sender and its hop limit.",
			"Set vrrp.minTTL on all nodes to 255 less the number of routers between them, with a key. Or bring the nodes onto one link.",
		},
		{
			MemberClaims, "member-claims", "The address is claimed by the host of a member or of a listed peer that this node does not hear in the election.",
			"Look at keepvip status on that host: what it refuses, and whether another program there has the address.",
			"If keepvip runs there, let the two hear each other: `vrrp.peers`, the key and the firewall on both. " +
				"If another program has the address there, as FRR or keepalived, stop it, or set net.ipv4.conf.IFACE.arp_ignore=1 for the interface that answers.",
		},
		{
			PortOfAnother, "port-of-another", "The interface that the configuration names became a port of a bridge or bond, which has the host's own addresses now.",
			"Look at ip link on this node: the port has a master.", "Name the bridge or bond as the interface, or none, and reload.",
		},
		{
			ForwardedLate, "forwarded-late", "This node took the address as nobody was heard since its start, though another node held it all the time.",
			"Look at whether the port of the switch forwards immediately: spanning tree and LACP hold a new link back for some seconds.",
			"Set vrrp.bootDelay or vrrp.startupDelay to longer than the port takes, or vrrp.preemptDelay or vrrp.preempt: false for the time after. " +
				"Or have the switch forward immediately, as by PortFast.",
		},
		{
			AddressesVary, "addresses-vary", "A member of this election advertises other addresses with the same VRID, as during a change that goes from node to node.",
			"Look at the addresses of the entry on all nodes.", "Give all nodes the same addresses, and reload.",
		},
	}
}
