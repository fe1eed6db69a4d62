package code

import "slices"

// KV2xx: what keeps this node from holding an address: its checks, an operator, its configuration.
const (
	CheckRefused  Code = "KV201"
	CheckStatus   Code = "KV202"
	CheckTimeout  Code = "KV203"
	CheckCut      Code = "KV204"
	CheckTLS      Code = "KV205"
	CheckLeaving  Code = "KV206"
	CheckFailed   Code = "KV207"
	CheckUnknown  Code = "KV208"
	CheckWeight   Code = "KV209"
	Held          Code = "KV220"
	Drained       Code = "KV221"
	Witness       Code = "KV222"
	NoCandidate   Code = "KV223"
	NoCandidates  Code = "KV224"
	BindRefused   Code = "KV230"
	GroupUnfit    Code = "KV231"
	NotInElection Code = "KV232"
)

func hold() []Entry { return slices.Concat(holdChecks(), holdStandby(), holdOthers()) }

func holdChecks() []Entry {
	return []Entry{
		{
			CheckRefused, "check-refused", "Nothing listens where the check of this node asks: the connection was refused or reset.",
			"Look at the process that the check asks, as the apiserver: whether it runs and on which port.", "Start it, or repair the check's URL.",
		},
		{
			CheckStatus, "check-status", "The checked service answers with a status that is not a success, such as 500 or 403.",
			"Look at the answer: curl the URL of the check on this node, for the apiserver with ?verbose.",
			"Repair what the answer names. With 401 or 403 give the check credentials, or let the path be read without them.",
		},
		{
			CheckTimeout, "check-timeout", "The checked service did not answer in time.",
			"Look at how far the exchange came (connecting, the TLS handshake, the answer), and at the load of this node.",
			"Repair what hangs. If it only is slow, give the check a longer timeout.",
		},
		{
			CheckCut, "check-cut", "The checked service took the connection and cut it before it had answered.",
			"Look at whether the process crashes or restarts.", "Repair the process.",
		},
		{
			CheckTLS, "check-tls", "The certificate of what the check asks is not trusted, or it speaks no TLS.",
			"Look at the check's CA file and server name, and at the certificate: openssl s_client -connect.",
			"Give the check the CA and the name of that server, or renew the certificate.",
		},
		{
			CheckLeaving, "check-leaving", "The checked service says that it is shutting down.",
			"Look at who restarts it.", "Nothing has to be done: the address comes back or stays where it is when it has started.",
		},
		{
			CheckFailed, "check-failed", "A check of this node fails: a program, a file, a process, an interface, a gateway or an answer that cannot be read.",
			"Look at the check in the status: it says which one and why.", "Repair what the check is about, or the check.",
		},
		{
			CheckUnknown, "check-unknown", "A check of this node has no result yet, so the node comes last in the election.",
			"Look at the check in the status.", "Wait for the check's first results. If none comes, repair the check.",
		},
		{
			CheckWeight, "check-weight", "A check with a weight lowers the priority of this node.",
			"Look at the checks and the priority in the status.", "Repair what the check is about, or give the check another weight.",
		},
	}
}

func holdOthers() []Entry {
	return []Entry{
		{
			Held, "held", "An operator holds this node out of the election, until it is resumed.",
			"Look at since when and why: keepvip status on this node.", "Run keepvip resume on this node when it may hold the address again.",
		},
		{
			Drained, "drained", "An operator drained this node: it comes last in the election until it is resumed or restarted.",
			"Look at keepvip status on this node.", "Run keepvip resume on this node when it may hold the address again.",
		},
		{
			Witness, "witness", "This node is a witness: it votes, and never holds an address.",
			"Look at raft.witnesses in the configuration.", "Nothing has to be done.",
		},
		{
			NoCandidate, "no-candidate", "This node is a member and no candidate: it serves its share where the load is spread, and never holds the address.",
			"Look at candidates in the configuration: none of them is this node's address.", "Nothing has to be done.",
		},
		{
			NoCandidates, "no-candidates", "No node that may hold the address is heard, so nobody holds it.",
			"Look at candidates in the configuration: whether these are addresses of nodes on the link, and whether keepvip runs there.",
			"Start keepvip on the candidates, or put into the list, on all nodes, whoever is to hold the address.",
		},
		{
			BindRefused, "bind-refused", "The kernel of this node refused to bind the address, so the node gave it up and comes last for a while.",
			"Look at the error in the log of this node.", "Repair what the error names. The node tries again by itself.",
		},
		{
			GroupUnfit, "group-unfit", "Another address of the same group could not be held here, so none of the group is.",
			"Look at the other address of the group in the status of this node.", "Repair what the reason names.",
		},
		{
			NotInElection, "not-in-election", "Another address of the same group is not in its election on this node, so none of the group is held here.",
			"Look at the status of the other addresses of the group.", "Repair what keeps the other address out.",
		},
	}
}
