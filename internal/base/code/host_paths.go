package code

// KV45x to KV47x: which packets pass between this host and others, each way by itself, and what the others have set otherwise.
const (
	VRRPInDropped        Code = "KV451"
	MembersInDropped     Code = "KV452"
	MembersOutDropped    Code = "KV453"
	VRRPNotHeard         Code = "KV454"
	VRRPNotHeardThere    Code = "KV455"
	MembersNotHeard      Code = "KV456"
	MembersNotHeardThere Code = "KV457"
	PeerSilent           Code = "KV461"
	Alone                Code = "KV462"
	OtherVRID            Code = "KV463"
	OtherInterval        Code = "KV464"
	OtherAddresses       Code = "KV465"
	OtherSoftware        Code = "KV466"
	RaftDropped          Code = "KV467"
	RaftRefused          Code = "KV468"
	OtherMTU             Code = "KV469"
	NoDoctor             Code = "KV470"
)

func hostPaths() []Entry {
	return []Entry{
		{
			VRRPInDropped, "vrrp-in-dropped", "Protocol 112 arrives and a rule of this host drops it: this node would take the address beside its holder.",
			"Look at `nft list ruleset` and `iptables -S INPUT`.",
			"Let protocol 112 in on the interface of the address.",
		},
		{
			MembersInDropped, "members-in-dropped", "The members' messages arrive and a rule of this host drops them: the address moves with VRRP alone.",
			"Look at `nft list ruleset` and `iptables -S INPUT`.",
			"Let UDP port 9646 (`port`) in on the interface of the address.",
		},
		{
			MembersOutDropped, "members-out-dropped", "A rule of this host drops the members' messages that it sends.",
			"Look at `nft list ruleset` and `iptables -S OUTPUT`.",
			"Let UDP port 9646 (`port`) out on the interface of the address.",
		},
		{
			VRRPNotHeard, "vrrp-not-heard", "Protocol 112 is lost on the way from another node, which says that it sends it.",
			"Look at the firewall of that host (OUTPUT), and at what is between: switch, security groups.",
			"Let protocol 112 through, from that host to this one.",
		},
		{
			VRRPNotHeardThere, "vrrp-not-heard-there", "A member does not hear the protocol 112 of this host.",
			"Look at the firewall of that host (INPUT), and at what is between: switch, security groups.",
			"Let protocol 112 through, from this host to that one.",
		},
		{
			MembersNotHeard, "members-not-heard", "A host advertises the address and sends no messages of members, or these are lost on the way.",
			"Look at whether that host runs keepvip or keepalived, at its firewall (OUTPUT), and at what is between.",
			"Let UDP port 9646 (`port`) through, from that host to this one. A keepalived sends none.",
		},
		{
			MembersNotHeardThere, "members-not-heard-there", "A member does not hear the messages of this host.",
			"Look at the firewall of that host (INPUT), and at what is between.",
			"Let UDP port 9646 (`port`) through, from this host to that one.",
		},
		{
			PeerSilent, "peer-silent", "Nothing is heard of a host that `vrrp.peers` names.",
			"Look at whether keepvip runs there, and whether that host answers `ping`.",
			"Start it, correct the list, or repair the network.",
		},
		{
			Alone, "alone", "No other node is heard: none runs, or multicast does not arrive.",
			"Run keepvip doctor on another node; look for a switch that filters multicast to 224.0.0.18 or ff02::12.",
			"Start keepvip on the other nodes. Where multicast does not pass, list them in `vrrp.peers`: each node's list has to have the own address of every other.",
		},
		{
			OtherVRID, "other-vrid", "Two nodes have the same address and different VRIDs: both hold it.",
			"Look at `keepvip config show` on both.",
			"Set the same `vrrp.id` on all nodes.",
		},
		{
			OtherInterval, "other-interval", "Two nodes have different advertisement intervals: a failover takes as long as the holder's says.",
			"Look at `keepvip config show` on both.",
			"Set the same `vrrp.advertisementInterval` on all nodes.",
		},
		{
			OtherAddresses, "other-addresses", "Two nodes hold different lists of addresses: some are lost when the holder changes.",
			"Look at `keepvip config show` on both.",
			"Set the same `vips[].addresses` on all nodes.",
		},
		{
			OtherSoftware, "other-software", "Two nodes run different versions of keepvip.",
			"Look at `keepvip status` on both.",
			"Bring all nodes to one version; two of them side by side are for the time of an upgrade.",
		},
		{
			RaftDropped, "raft-dropped", "No TCP connection to another voter of Raft: it is filtered, or the host is gone.",
			"Look at the firewalls of both hosts.",
			"Let TCP port 9646 (`port`) through, both ways.",
		},
		{
			RaftRefused, "raft-refused", "Nothing listens for Raft at another voter.",
			"Look at whether keepvip runs there.",
			"Start it, or correct `raft.peers`.",
		},
		{
			OtherMTU, "other-mtu", "The interfaces of two nodes have different MTUs: what one sends the other may drop, whichever holds the address.",
			"Look at `ip link show` on both. A member says the MTU that its interface had when keepvip joined the election.",
			"Set the same MTU on all nodes, and on the switch.",
		},
		{
			NoDoctor, "no-doctor", "Another host was to answer a doctor's probes, and nothing is heard of it.",
			"Look at whether keepvip doctor --peers runs there at the same time, and whether that host answers ping.",
			"Run it there, with this host among its --peers and the same key, for long enough (--listen).",
		},
	}
}
