package code

import "slices"

// KV4xx: this host: its link, addresses, fence, kernel, and how late it is.
const (
	LinkDown         Code = "KV401"
	InterfaceMissing Code = "KV402"
	NoOwnAddress     Code = "KV403"
	PlaceChanged     Code = "KV404"
	FenceLost        Code = "KV405"
	LeaseLapsed      Code = "KV406"
	NotSent          Code = "KV407"
	StoodStill       Code = "KV408"
	Late             Code = "KV409"
	SocketRefused    Code = "KV410"
	FenceUncovered   Code = "KV411"
	AddressStolen    Code = "KV412"
	ResourceMissing  Code = "KV413"
)

func host() []Entry {
	return slices.Concat(hostRun(), hostWatched(), hostPlace(), hostAbility(), hostPaths(), hostSpread(), hostFiles())
}

func hostRun() []Entry {
	return []Entry{
		{
			LinkDown, "link-down", "The interface of this node has no carrier, or is down, so the node left the election.",
			"Look at ip link on this node, and at the cable or the switch port.", "Bring the link back. The node joins the election by itself.",
		},
		{
			InterfaceMissing, "interface-missing", "The interface that the configuration names, or that would fit, is not there.",
			"Look at ip link on this node, and at interface in the configuration.", "Create the interface, or name the one that is meant.",
		},
		{
			NoOwnAddress, "no-own-address", "The interface has no own address of the family of the virtual address, or not the one of vrrp.source.",
			"Look at ip addr on this node.", "Give the interface an address, or wait for DHCP. The node joins the election by itself.",
		},
		{
			PlaceChanged, "place-changed", "The interface or the node's own address is another one than before, so the election began anew.",
			"Look at ip addr on this node.", "Nothing has to be done if the change was meant.",
		},
		{
			FenceLost, "fence-lost", "The fence, by which the kernel silences a dead holder, is not in place on this node, or was not for a moment of the last day.",
			"Look at the fence in the status, and at nft list ruleset.",
			"Repair what the reason names: a kernel without nftables, or before Linux 6.9 a program that flushes the whole ruleset, such as the start of a firewall.",
		},
		{
			LeaseLapsed, "lease-lapsed", "The lease of this node was over, so its kernel silenced the address although the node is the holder.",
			"Look at the log of this node, at its load and at its clock.", "Repair what kept the lease from being renewed.",
		},
		{
			NotSent, "not-sent", "The advertisements of this node do not leave it, so its lease is not renewed and it does not answer.",
			"Look at nft list ruleset and iptables -S on this node for what drops IP protocol 112 on its way out.", "Let IP protocol 112 out.",
		},
		{
			StoodStill, "stood-still", "This node stood still for so long that another node may have taken the address: a frozen machine, or no processor time.",
			"Look at the load of the host, and at pauses of the hypervisor: snapshots and live migration.",
			"Give keepvip processor time (realtime), or set a longer vrrp.advertisementInterval.",
		},
		{
			Late, "late", "Timers are served late on this node, by more than its advertisement interval carries.",
			"Look at latenessSeconds of the status, and at the load of the host.",
			"Give keepvip processor time (realtime), or set a longer vrrp.advertisementInterval.",
		},
		{
			SocketRefused, "socket-refused", "A socket that the election needs could not be opened on this node.",
			"Look at the error in the reason.", "Give keepvip the capability NET_RAW and NET_ADMIN, or free the port that is taken.",
		},
		{
			FenceUncovered, "fence-uncovered", "Something may go on answering for the address although the fence is in place.",
			"Look at the fence in the status: it says what.", "Follow what the reason says, or accept it.",
		},
		{
			AddressStolen, "address-stolen", "Another program on this node removed the address, and keepvip put it back.",
			"Look at the log of NetworkManager, systemd-networkd and netplan.", "Keep that program from managing addresses that are not its own.",
		},
		{
			ResourceMissing, "resource-missing", "The host refused what keepvip needs to serve the address.",
			"Look at the error in the reason.", "Repair what the error names. The node tries again by itself.",
		},
	}
}
