package code

// KV48x: what spreading the load over the members wants of this host.
const (
	NoSecondChance Code = "KV481"
	LargeReceive   Code = "KV482"
	SpreadModule   Code = "KV483"
	ConntrackFull  Code = "KV484"
	NotSpread      Code = "KV485"
	TooManyMembers Code = "KV486"
	NotForwarding  Code = "KV487"
	NotFollowed    Code = "KV488"
	NotListening   Code = "KV489"
)

func hostSpread() []Entry {
	return []Entry{
		{
			NoSecondChance, "no-second-chance",
			"The kernel takes up no connection in its midst, so a client of a member that died is not told, and hangs until it gives up.",
			"Look at `sysctl net.netfilter.nf_conntrack_tcp_loose`.",
			"Set it to 1, which is the default.",
		},
		{
			LargeReceive, "large-receive-offload",
			"The interface joins packets of a connection as they come in (LRO), and what was joined cannot be sent on to another member.",
			"Look at `ethtool -k INTERFACE`, for large-receive-offload.",
			"Switch it off by `ethtool -K INTERFACE lro off`, at each boot; generic-receive-offload may stay on.",
		},
		{
			SpreadModule, "spread-module", "This kernel lacks a module by which keepvip spreads connections over the members.",
			"Look at the modules of the running kernel, in /lib/modules.",
			"Use a kernel that has it, or set `spread: off` on all nodes.",
		},
		{
			ConntrackFull, "conntrack-full", "The kernel's table of connections is almost full: new ones are dropped when it is.",
			"Look at `sysctl net.netfilter.nf_conntrack_count net.netfilter.nf_conntrack_max`.",
			"Set `net.netfilter.nf_conntrack_max` higher; an entry takes about 300 bytes.",
		},
		{
			NotSpread, "not-spread", "Connections are not spread over the members as they should be: the holder serves them, or members disagree about who does.",
			"Look at keepvip spread on this node for the reason.",
			"Repair what the reason names: a kernel without a module, a program that takes nftables tables away, or members that are not heard.",
		},
		{
			TooManyMembers, "too-many-members", "More members spread an address than a table has room for, which is seven: the others get no connections.",
			"Look at keepvip spread, which names those that are left out.",
			"List the seven that are to serve in `spread.members`, on all nodes, or set `spread: off` on those that are too many.",
		},
		{
			NotForwarding, "not-forwarding", "Connections are spread by `masquerade`, and this host does not forward packets, or may not: as the holder it cannot give them to members.",
			"Look at `sysctl net.ipv4.ip_forward net.ipv6.conf.all.forwarding`, and at `nft list ruleset` for chains at the hook forward with `policy drop`.",
			"Set them to 1 at each boot, by a file in /etc/sysctl.d (keepvip changes no sysctl), and let the packet filter pass the members' addresses and ports.",
		},
		{
			NotFollowed, "not-followed",
			"Connections of a host that runs keepvip follow are not sent straight to the members: they go to the virtual address, or to members known before.",
			"Look at keepvip status on that host: PROBLEM is what its kernel refuses, WIRE that no member is fit or reached, NOBODY that no member answers.",
			"Repair what it names. Where nobody answers, let UDP port 9646 pass, and compare the followers' key with the members' (docs/followers.md).",
		},
		{
			NotListening, "not-listening",
			"This member does not listen at `follow.listen`, most often because another program has the port: programs of this host cannot connect there.",
			"Look at `ss -ltnp` on this host, which names the program that has the port.",
			"End or move that program, and keepvip listens within 5 s. Or set `follow.listen` to another port on all nodes, or `follow.onMembers: false`.",
		},
	}
}
