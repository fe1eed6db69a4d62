package code

// KV44x: what this host can do.
const (
	NoCapability   Code = "KV441"
	NoNftables     Code = "KV442"
	NoEgress       Code = "KV443"
	FilteringCloud Code = "KV444"
	PortTaken      Code = "KV445"
)

func hostAbility() []Entry {
	return []Entry{
		{
			NoCapability, "no-capability", "The process may not do what keepvip has to do.",
			"Run keepvip doctor as the user that keepvip runs as: it looks at itself.",
			"Run it as root, or grant NET_ADMIN and NET_RAW.",
		},
		{
			NoNftables, "no-nftables", "The kernel does not silence the address when its holder dies: only the lifetime of the address ends it.",
			"Look at the fence in `keepvip status`, which says what is missing.",
			"Use a kernel with CONFIG_NF_TABLES_NETDEV, and load its module (`modprobe nf_tables`).",
		},
		{
			NoEgress, "no-egress", "The kernel cannot silence what a dead holder sends.",
			"Look at the version of the kernel: the egress hook came with Linux 5.16.",
			"Use a later kernel, with CONFIG_NETFILTER_EGRESS.",
		},
		{
			FilteringCloud, "filtering-cloud", "The machine runs where the network lets only known addresses or MACs through.",
			"Look at what the provider's documentation says about allowed addresses.",
			"Allow the address on the ports of all nodes, or use the provider's load balancer.",
		},
		{
			PortTaken, "port-taken", "Another program has the members' UDP port.",
			"Look at `ss -ulpn`, which names it.",
			"Stop it, or set another `port` on all nodes.",
		},
	}
}
