package code

// KV1xx: why the role of a node, or the holder, has changed. Where a check, an operator, the wire or the host is the cause, its own code of
// another range is given instead.
const (
	Started        Code = "KV101"
	NobodyHeld     Code = "KV102"
	HolderSilent   Code = "KV103"
	Stopping       Code = "KV104"
	HolderResigned Code = "KV105"
	HigherPriority Code = "KV106"
	HigherAddress  Code = "KV107"
	HolderHeard    Code = "KV108"
	Handover       Code = "KV109"
	PassedOn       Code = "KV110"
	AddressOwner   Code = "KV111"
	Group          Code = "KV112"
	Reconfigured   Code = "KV113"
	Removed        Code = "KV114"
	External       Code = "KV115"
)

func transition() []Entry {
	return []Entry{
		{
			Started, "started", "This node has joined the election. It waits whether a holder is heard before it takes an address.",
			"Look at the status of this node a second later.", "Nothing has to be done.",
		},
		{
			NobodyHeld, "nobody-held", "No holder was heard since this node joined the election, so it took the address.",
			"Look at whether other nodes should have been up at that time.",
			"Nothing has to be done at a first start. If another node held the address then, let IP protocol 112 pass between the nodes.",
		},
		{
			HolderSilent, "holder-silent", "Nothing was heard of the holder for as long as it may be silent, and it had not said that it would go.",
			"Look at the former holder: its power, its link, its keepvip process and its log.",
			"Bring the former holder back. If it was up all the time, look for what lost its packets: a switch, a firewall or a host that stood still.",
		},
		{
			Stopping, "stopping", "The keepvip of the holder was told to end, and the address went to another node.",
			"Look at who stopped keepvip there: a restart, an upgrade or the shutdown of the node.", "Nothing has to be done.",
		},
		{
			HolderResigned, "holder-resigned", "The holder sent an advertisement with priority 0 and said nothing else: it gave the address up.",
			"Look at the log of the former holder. A router that speaks VRRP alone, as keepalived, says no more than that.",
			"Nothing has to be done if somebody stopped it.",
		},
		{
			HigherPriority, "higher-priority", "A node of higher priority took the address from one of lower priority.",
			"Look at the priorities in the status, and at what was taken off the lower one.",
			"Set vrrp.preempt to false on all nodes if an address should stay where it is.",
		},
		{
			HigherAddress, "higher-address", "Two nodes of equal priority held the address at the same time. The one with the greater own address kept it.",
			"Look at why the two did not hear each other before: a partition, a filter or a host that stood still.",
			"Repair the path between the two nodes.",
		},
		{
			HolderHeard, "holder-heard", "Another node is heard as the holder, and nobody was heard before.",
			"Look at the holder in the status.", "Nothing has to be done.",
		},
		{
			Handover, "handover", "An operator asked for the address to go to another node.",
			"Look at the cause: it names the node on which the handover was asked for, and by whom.", "Nothing has to be done.",
		},
		{
			PassedOn, "passed-on", "The holder passed the address on to another node, and did not say why.",
			"Look at the log of the former holder.", "Nothing has to be done.",
		},
		{
			AddressOwner, "address-owner", "This node has the priority 255 of an address owner, so it holds the address whenever it runs.",
			"Look at vrrp.owner.", "Leave vrrp.owner out, and set a priority, where the address should not come back by itself.",
		},
		{
			Group, "group", "Another address of the same group is not held by this node, and the addresses of a group stay together.",
			"Look at the status of the other addresses of the group.", "Repair what keeps the other address away.",
		},
		{
			Reconfigured, "reconfigured", "A reload changed what needs a new election, so the election of this address began anew.",
			"Look at what was changed in the configuration.", "Nothing has to be done.",
		},
		{
			Removed, "removed", "A reload removed this virtual address from the configuration.",
			"Look at what was changed in the configuration.", "Add the entry again if the address should be served.",
		},
		{
			External, "external", "The address is external (`mode: external`): a balancer answers clients, and no node holds it, or not for long any more.",
			"Look at `mode` and `externalAddress` in the configuration, and at `keepvip endpoint`.", "Nothing has to be done.",
		},
	}
}
