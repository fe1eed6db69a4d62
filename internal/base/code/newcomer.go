package code

// NewMember is a member that appears while nothing proves that it is one.
const NewMember Code = "KV252"

func holdNewcomers() []Entry {
	return []Entry{{
		NewMember, "new-member", "A member appeared that was not there before, and gets new connections. Neither a key nor `spread.members` says that it is one.",
		"Look at CONFLICT in the status: it has the address and the name. Ask whether somebody has added that node.",
		"If nobody has, list the members in `spread.members`, or set `key.file` on all nodes, and look for the host that has the MAC address in the log. " +
			"If somebody has, nothing has to be done: it is not said again.",
	}}
}
