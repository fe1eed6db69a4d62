package code

// KV37x: causes of a split, and of claims, that are in the configuration or on the host, and not on the way.
const (
	BehindRouter  Code = "KV370"
	MemberClaims  Code = "KV371"
	PortOfAnother Code = "KV372"
)

func wireCauses() []Entry {
	return []Entry{
		{
			BehindRouter, "behind-router", "Messages of a member are refused because they came through a router: their hop limit is less than vrrp.minTTL.",
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
	}
}
