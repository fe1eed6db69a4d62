package code

// KV7xx: failovers on purpose.
const (
	DrillHandover    Code = "KV701"
	DrillStop        Code = "KV702"
	DrillCheck       Code = "KV703"
	DrillRefused     Code = "KV704"
	DrillFailed      Code = "KV705"
	DrillTooLong     Code = "KV706"
	DrillInterrupted Code = "KV707"
	DrillStays       Code = "KV708"
)

func drill() []Entry {
	return []Entry{
		{
			DrillHandover, "drill-handover", "An operator asked for a drill: the holder passes the address on as by keepvip handover.",
			"Look at the line \"a drill begins\" in the log of the node that had the address.", "Nothing has to be done: the drill ends by itself.",
		},
		{
			DrillStop, "drill-stop", "An operator asked for a drill: the holder stands still as if its process were frozen, and the kernel ends its lease.",
			"Look at the line \"a drill begins\" in the log of the node that had the address.", "Nothing has to be done: the drill ends by itself.",
		},
		{
			DrillCheck, "drill-check", "An operator asked for a drill: every health check of the holder is taken to be bad.",
			"Look at the line \"a drill begins\" in the log of the node that had the address.", "Nothing has to be done: the drill ends by itself.",
		},
		{
			DrillRefused, "drill-refused", "A drill was refused, and nothing has changed: another node is not well, or this one is not an ordinary holder.",
			"Look at the text of the refusal, which names the node and why.", "Make all members healthy, and drill then.",
		},
		{
			DrillFailed, "drill-failed", "The holder was made to fail, and no other node took the address in time.",
			"Look at the status and the log of the other nodes at that time.", "Find out why none of them took the address before the holder dies in earnest.",
		},
		{
			DrillTooLong, "drill-too-long", "The address moved, and clients missed it for longer than documented for these settings.",
			"Look at the lateness in the status of the nodes, at their load, and at the ARP of the switches and routers on the way.",
			"Drill again. If it stays so, find what is slow, or take a longer interval.",
		},
		{
			DrillInterrupted, "drill-interrupted", "A drill was ended before its time: whoever asked for it has gone, or a later command, a reload or a stop of keepvip came.",
			"Look at the status for who has the address: it has gone back where that was possible.", "Nothing has to be done.",
		},
		{
			DrillStays, "drill-stays", "The address moved, and did not go back to the node that had it.",
			"Look at the line \"a drill has ended\" in the log of that node.", "Nothing has to be done. To move the address, run keepvip handover at its holder.",
		},
	}
}
