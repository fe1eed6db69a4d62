package code

// KV49x: what somebody on this host keeps keepvip from, beside the election.
const (
	FIFOUnwritten    Code = "KV490"
	HistoryUnwritten Code = "KV491"
	MembersUnheard   Code = "KV492"
)

func hostFiles() []Entry {
	return []Entry{
		{
			FIFOUnwritten, "fifo-unwritten", "The notify FIFO cannot be written: something else stands at its path, or keepvip may not make it. The election goes on.",
			"Look at the log of this node for the reason, and at what stands at the path of `notifyFIFO.path`.",
			"Make room at the path, best in a directory that only root may write. keepvip tries again by itself.",
		},
		{
			HistoryUnwritten, "history-unwritten", "The transitions of this node are kept in memory only: their file cannot be read or written. The election goes on.",
			"Look at the log of this node for the reason, and at `history.log` in `stateDir`.",
			"Make room at the path or on its disk. keepvip tries again by itself, unless the file holds something that is not its own.",
		},
		{
			MembersUnheard, "members-unheard", "Another program has the UDP port of the members' messages, so this node takes part with VRRP alone.",
			"Look at `ss -ulnp`, which names the program.",
			"Stop the program. keepvip hears the members within seconds by itself. Another `port` has to be the same on all nodes.",
		},
	}
}
