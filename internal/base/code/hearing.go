package code

// KV340 to KV349: what arrives at a node, and how a holder answers.
const (
	Deaf          Code = "KV340"
	Unanswered    Code = "KV341"
	RepliesLost   Code = "KV342"
	FamilyMissing Code = "KV343"
	HeldUnreached Code = "KV344"
)

func wireHearing() []Entry {
	return []Entry{
		{
			Deaf, "deaf", "Nothing arrives at the node, although what it sends does: nobody answers its questions, or nothing has arrived since its start.",
			"Look at the counters of its interface (ip -s link), at its nftables and tc rules for ingress, and at the port of the switch.",
			"Let the frames for the node in again. Until then it comes last, and nobody yields to it.",
		},
		{
			Unanswered, "unanswered", "Members ask for the address, and its holder does not answer, although they hear each other.",
			"Look on the holder whether ARP is off (ip link shows NOARP), at arp_ignore (sysctl net.ipv4.conf), and at rules for ARP or neighbour discovery.",
			"Switch ARP on (ip link set arp on), or set arp_ignore to 0 or 1.",
		},
		{
			RepliesLost, "replies-lost", "Replies from the virtual address do not leave by its interface, and those from the node's own address do: a routing rule names the own one alone.",
			"Look at `ip rule` (`ip -6 rule`), and at `ip route get CLIENT from ADDRESS` for both addresses while the node holds the virtual one.",
			"Give the virtual address the rule that the own one has, by `ip rule add from ADDRESS lookup TABLE`, on every node and in its network configuration.",
		},
		{
			FamilyMissing, "family-missing", "This node cannot bind the addresses of one family, IPv4 or IPv6. It comes last, and serves the other family where no other node is fit.",
			"Look at `sysctl net.ipv6.conf.INTERFACE.disable_ipv6`, and at what the status says of the refusal.",
			"Set `disable_ipv6` to 0 on the interface. The addresses are bound and announced again by themselves.",
		},
		{
			HeldUnreached, "held-unreached", "Members hear the holder, and their connections to the address do not come to its service.",
			"Connect from a member by `nc -vz ADDRESS PORT`. Look on the holder for rules of nftables or iptables about it.",
			"Let the port in at the virtual address there, and where the load is spread at the own one. Where two members say so, a fit node takes over for a while.",
		},
	}
}
