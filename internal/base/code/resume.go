package code

// KV25x: a node takes part in the election again.
const (
	Resumed  Code = "KV250"
	Returned Code = "KV251"
)

func holdReturns() []Entry {
	return []Entry{
		{
			Resumed, "resumed", "An operator has ended the hold of this node, so it takes part in the election again.",
			"Look at who asked for it: keepvip history on that node.", "Nothing has to be done.",
		},
		{
			Returned, "returned", "The cause is over that kept this node out of the election, so it takes part again.",
			"Look at the reason: it names what had kept the node out.", "Nothing has to be done. If it comes again and again, repair that cause.",
		},
	}
}
