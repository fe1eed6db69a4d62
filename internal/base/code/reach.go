package code

// KV36x: what clients would meet, as seen from outside: a service that is not reached, or that does not listen where they connect.
const (
	NotReached       Code = "KV360"
	NotCovered       Code = "KV361"
	DrillAllRefused  Code = "KV362"
	ProcessEnded     Code = "KV363"
	NoLifeline       Code = "KV364"
	NodeGone         Code = "KV365"
	DetectorPlain    Code = "KV366"
	DetectorMeasured Code = "KV367"
)

func reach() []Entry {
	return []Entry{
		{
			NotReached, "not-reached",
			"The service of a member or backend takes no connection from here: nothing arrives there, a packet filter drops the port, or nothing listens.",
			"Look at keepvip spread, which names the address and port, and connect there from this node, by `nc -vz ADDRESS PORT`.",
			"Let the port in on that host from all nodes, start the service, or repair the network's way to it. Connections go there again by themselves.",
		},
		{
			NotCovered, "not-covered",
			"Nothing listens at the virtual address and port: the service is bound to the node's own address or to loopback, so clients are refused.",
			"Look at `ss -ltn` on this node, at which local address the port is listened on.",
			"Bind the service to all addresses (0.0.0.0 or ::), or to the virtual one too. Or set `spread: direct`, which translates to the node's own address.",
		},
		{
			DrillAllRefused, "drill-all-refused",
			"Every connection of a drill was refused: the address moved, and nothing listened at it before and after.",
			"Look at `ss -ltn` on the nodes, and at the port that the drill has connected to.",
			"Have the service listen at the virtual address, or give the drill the right port by --port, and drill again.",
		},
		{
			ProcessEnded, "process-ended",
			"The process of keepvip on the holder ended without passing the address on, and the kernel of that host said so: it was killed, or it crashed.",
			"Look at the end of the log of keepvip on the former holder, and there at `dmesg` for a process that was killed for want of memory.",
			"Keep the process from being killed: give the pod or unit enough memory. If keepvip crashed, report its log.",
		},
		{
			NoLifeline, "no-lifeline",
			"There is no TCP connection between this node and a member, so the end of a process is heard by its silence alone, some 80 ms later.",
			"Look at the error beside it, and at whether TCP to `port` passes between the members.",
			"Let TCP to `port` (9646) in from the other members, as UDP is. Nothing else depends on it where no address is elected with Raft.",
		},
		{
			NodeGone, "node-gone",
			"The holder's node was gone: its beats stopped, its kernel answered no echo, and another member found the same.",
			"Look at the cause, at that host, its cable and switch port, and whether it was migrated or stood still.",
			"Set `vrrp.detector: plain` on all nodes if an address should stay over blackouts of less than 300 ms.",
		},
		{
			DetectorPlain, "detector-plain",
			"`vrrp.detector: fast` is set, and only missing advertisements would tell this node that the holder is dead.",
			"Look at the reason beside it in `keepvip status`.",
			"Let ICMP echo requests in, set the same detector on all nodes, have three members or a `detectorWitness`. Take nodes that are gone for good off `vrrp.peers`.",
		},
		{
			DetectorMeasured, "detector-measured",
			"`keepvip doctor` measured how late this host and the members' answers are, which `vrrp.detector: fast` goes by.",
			"Look at the figures: a beat may be late by twice what was the worst. A dead node is found 35 ms later.",
			"Nothing has to be done where that is short. Otherwise take load off, or set `realtime`, or stay `plain`.",
		},
	}
}
