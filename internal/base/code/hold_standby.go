package code

// KV21x: why a fit node does not hold the address.
const (
	LowerPriority Code = "KV210"
	EqualPriority Code = "KV211"
	PreemptOff    Code = "KV212"
)

func holdStandby() []Entry {
	return []Entry{
		{
			LowerPriority, "lower-priority", "The holder has a higher priority than this node.",
			"Look at the priorities in the status.",
			"Nothing has to be done. To move the address, run keepvip drain on the holder: after a handover it takes the address back.",
		},
		{
			EqualPriority, "equal-priority", "The holder has the same priority as this node, and equals do not take an address from each other.",
			"Look at the priorities in the status.", "Nothing has to be done. To move the address, run keepvip handover on the holder.",
		},
		{
			PreemptOff, "preempt-off", "This node has a higher priority than the holder, and vrrp.preempt is false: it waits until the holder gives the address up.",
			"Look at vrrp.preempt in the configuration.", "Nothing has to be done. To move the address, run keepvip handover on the holder.",
		},
	}
}
