package code

// KV5xx: the election by Raft.
const (
	NoQuorum     Code = "KV501"
	NoLeader     Code = "KV502"
	MajorityLost Code = "KV503"
	Elected      Code = "KV504"
	LeaderKnown  Code = "KV505"
	Forming      Code = "KV506"
	NotAMember   Code = "KV507"
	LeaderOut    Code = "KV508"
	LeaderWaits  Code = "KV509"
)

func raft() []Entry {
	return []Entry{
		{
			NoQuorum, "no-quorum", "Less than a majority of the Raft members is reached, so no node can hold the address.",
			"Look at the members in keepvip status and keepvip member list: which of them are silent.",
			"Bring a majority of the members back. If they are lost for good, follow the recovery in docs/raft.md.",
		},
		{
			NoLeader, "no-leader", "No member leads at this moment: an election is going on.",
			"Look at the status again after a second.", "Nothing has to be done, unless it lasts. Then look at why the members do not reach each other, and whether their disks take what they write.",
		},
		{
			MajorityLost, "majority-lost", "This node led, and a majority did not answer it in time, so its lease was over.",
			"Look at the link of this node, and at its load.", "Repair what kept the members from answering.",
		},
		{
			Elected, "elected", "A majority of the members elected this node, and follows it.",
			"Look at the members in the status.", "Nothing has to be done.",
		},
		{
			LeaderKnown, "leader-known", "Another member leads.", "Look at the holder in the status.", "Nothing has to be done.",
		},
		{
			Forming, "forming", "The Raft cluster is not formed yet, or this node has not joined it.",
			"Look at the reason: it says whom this node waits for.", "Start the other members, and let TCP port 9646 (`port`) pass between the nodes.",
		},
		{
			NotAMember, "not-a-member", "The cluster does not have this node for a member.",
			"Look at keepvip member list on the leader.", "Run keepvip member add on another node. Or stop keepvip here, remove raft/ in the state directory, and start it: the node joins anew.",
		},
		{
			LeaderOut, "leader-out", "This node leads and is not able to hold the address. It passes leadership on as soon as another member can take it.",
			"Look at the reason: it says what keeps the node out.", "Repair what the reason names.",
		},
		{
			LeaderWaits, "leader-waits", "This node leads, and waits for a moment before it takes the address.",
			"Look at the reason: it says what it waits for.", "Nothing has to be done.",
		},
	}
}
