package code

// KV3xx: what the wire shows: hosts outside the election, members that are not heard, packets that are refused.
const (
	DuplicateAddress Code = "KV301"
	Split            Code = "KV302"
	Probing          Code = "KV303"
	ForeignVRID      Code = "KV304"
	Rival            Code = "KV305"
	MemberSilent     Code = "KV306"
	NoTaker          Code = "KV307"
	WrongKey         Code = "KV310"
	KeyMissing       Code = "KV311"
	KeyUnexpected    Code = "KV312"
	Clocks           Code = "KV313"
	Replayed         Code = "KV314"
	AuthDiffers      Code = "KV315"
	VersionDiffers   Code = "KV316"
	IntervalDiffers  Code = "KV317"
	ProtocolDiffers  Code = "KV318"
	NotAPeer         Code = "KV319"
	Malformed        Code = "KV320"
	SocketUnread     Code = "KV321"
)

func wire() []Entry { return append(wireHosts(), wireRefused()...) }

func wireHosts() []Entry {
	return []Entry{
		{
			DuplicateAddress, "duplicate-address", "A host outside the election answers for the address, or claims it.",
			"Look at CONFLICT in the status: it has the MAC address of that host, and what it sends with VRRP.",
			"Take the address off that host, or stop its keepalived or kube-vip. The host of an FRR that is Backup answers, too, unless net.ipv4.conf.IFACE.arp_ignore is 1 there.",
		},
		{
			Split, "split", "A member says that it holds the address, and none of its advertisements arrives here.",
			"Look at SPLIT in the status: it says which of the nodes, and what differs or is filtered.",
			"Make VRID, version, interval and key the same on all nodes, and let IP protocol 112 and the members' UDP port pass between them.",
		},
		{
			Probing, "probing", "This node asks the link whether anybody has the address, before it takes it.",
			"Look at the status again after some seconds.", "Nothing has to be done.",
		},
		{
			ForeignVRID, "foreign-vrid", "Another cluster on the link uses the same VRID for other addresses.",
			"Look at REJECTED in the status: it names the sender.", "Set vrrp.id to another number in one of the clusters.",
		},
		{
			Rival, "rival", "Another node advertised as the holder while this node held the address.",
			"Look at the members in the status, and at the path between the two nodes.", "Repair the path between the two nodes.",
		},
		{
			MemberSilent, "member-silent", "Nothing is heard of a member any more.",
			"Look at since when it is silent, and at that node.", "Bring the node back, or remove it from the configuration.",
		},
		{
			NoTaker, "no-taker", "No other node could take the address over if its holder died now: the others are silent or not fit, or a majority needs the holder.",
			"Look at the members in the status: which are silent, and why others are not fit.", "Bring another node back, or repair what keeps it from being fit.",
		},
	}
}

func wireRefused() []Entry {
	return []Entry{
		{
			WrongKey, "wrong-key", "Packets are refused because they are signed with another key than this node has.",
			"Look at REJECTED in the status, and compare keepvip key fingerprint on the nodes.", "Give all nodes the same key.",
		},
		{
			KeyMissing, "key-missing", "Packets are refused because their sender has no key, and this node has one.",
			"Look at REJECTED in the status: it names the sender.", "Give the sender the key, or set key.mode while the key is being introduced.",
		},
		{
			KeyUnexpected, "key-unexpected", "Packets are refused because their sender has a key, and this node has none.",
			"Look at REJECTED in the status: it names the sender.", "Give this node the key, with key.mode receive-only at first.",
		},
		{
			Clocks, "clocks", "Signed packets are refused because the clocks of the nodes differ too much.",
			"Look at the clocks of both nodes.", "Set the clocks, then restart keepvip on the node whose clock was wrong.",
		},
		{
			Replayed, "replayed", "Signed packets are refused because they are older than others of the same sender.",
			"Look at whether the sender's clock was set back. If it was not, somebody replays packets.",
			"Restart keepvip on this node if the sender's clock was set back.",
		},
		{
			AuthDiffers, "auth-differs", "Advertisements of VRRP version 2 are refused because their authentication is another one.",
			"Look at auth_type and auth_pass of all routers.", "Make the authentication the same on all routers.",
		},
		{
			VersionDiffers, "version-differs", "Advertisements are refused because they are of another version of VRRP.",
			"Look at vrrp.version of all nodes.", "Set vrrp.version to the same on all routers.",
		},
		{
			IntervalDiffers, "interval-differs", "Advertisements of VRRP version 2 are refused because their interval is another one.",
			"Look at vrrp.advertisementInterval of all nodes.", "Make the interval the same on all routers.",
		},
		{
			ProtocolDiffers, "protocol-differs", "Messages of a member are refused because they are of another version of the members' protocol.",
			"Look at keepvip version on all nodes.", "Run the same release of keepvip on all nodes.",
		},
		{
			NotAPeer, "not-a-peer", "Packets of a node for this address are refused because its own address is not in the list of peers here.",
			"Look at REJECTED in the status, which names the sender, and at `vrrp.peers`: the node may have another address than before, as by DHCP.",
			"Add the sender to `vrrp.peers` on all nodes, give it back the address that is in the list, or stop it.",
		},
		{
			Malformed, "malformed", "Packets are refused because they are not as the standard has them: hop limit, length, checksum or type.",
			"Look at REJECTED in the status: it names the sender and what is wrong.", "Repair the sender, or what changes its packets on the way.",
		},
		{
			SocketUnread, "socket-unread", "The socket for advertisements cannot be read, so nobody is heard on this interface.",
			"Look at the error in REJECTED of the status.", "Repair what the error names.",
		},
	}
}
