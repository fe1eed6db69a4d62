package code

// KV38x: what others do to the listeners of this node. KV39x: what this host has too little of.
const (
	MetricsUnheard Code = "KV380"
	HealthUnheard  Code = "KV381"
	SocketUnheard  Code = "KV382"
	RaftUnheard    Code = "KV383"
	ListenerFull   Code = "KV384"
	FollowersFull  Code = "KV385"
	FollowersCount Code = "KV386"

	NoDescriptors     Code = "KV390"
	NoHostDescriptors Code = "KV391"
	NoMemory          Code = "KV392"
	NoProcess         Code = "KV393"
	NoPort            Code = "KV394"
)

func wireListeners() []Entry {
	return []Entry{
		{
			MetricsUnheard, "metrics-unheard", "The listener for metrics and probes cannot be opened: another program has the port, or this host lacks the address. The election goes on.",
			"Look at `ss -tlnp`, which names the program, and at `listeners` in the status.",
			"Stop the program, or set another `metrics.address`. keepvip tries again by itself.",
		},
		{
			HealthUnheard, "health-unheard", "The listener for balancers cannot be opened: another program has the port, or this host lacks the address. The election goes on.",
			"Look at `ss -tlnp`, which names the program, and at `listeners` in the status.",
			"Stop the program, or set another `health.address`. keepvip tries again by itself.",
		},
		{
			SocketUnheard, "socket-unheard", "The control socket cannot be made: no command reaches this keepvip. The election goes on.",
			"Look at the log of this node for the reason, and at what stands at the path of `socket`.",
			"Make room at the path, or free space on its disk. keepvip tries again by itself.",
		},
		{
			RaftUnheard, "raft-unheard", "Another program has the TCP port of the Raft cluster, so this node takes no part in it.",
			"Look at `ss -tlnp`, which names the program.",
			"Stop the program. The node joins within seconds by itself. Another `port` has to be the same on all nodes.",
		},
		{
			ListenerFull, "listener-full", "All places of a listener are taken, so the owner who has the most connections loses the oldest.",
			"Look at `ss -tnp` for who has the connections, and at `listeners` in the status.",
			"Stop who has too many. For programs that need more places, set `follow.connections` higher.",
		},
		{
			FollowersFull, "followers-full", "More hosts ask who the members are than a member has room for. Those that were there first are told.",
			"Look at `keepvip spread`, which lists the followers of a member.",
			"Find the hosts that ask without need, or change the followers' key.",
		},
		{
			FollowersCount, "followers-count", "A follower says that it has connections to this node, and this node knows none from there. A drain does not wait for these.",
			"Look at `keepvip spread`, which names the follower and its number.",
			"Look at that host: a wrong number is a fault, or somebody who has the followers' key.",
		},
	}
}

func wireLacks() []Entry {
	const keeps = " A health check that cannot run for that keeps its last verdict."
	return []Entry{
		{
			NoDescriptors, "no-descriptors", "This process has no file descriptor left." + keeps,
			"Look at `ls /proc/PID/fd | wc -l` and at the limit in `/proc/PID/limits`.",
			"Raise the limit (`LimitNOFILE=` of the unit), or set `follow.connections` lower.",
		},
		{
			NoHostDescriptors, "no-host-descriptors", "This host has no file descriptor left for any process." + keeps,
			"Look at `sysctl fs.file-nr fs.file-max`, and for the process with the most in /proc/*/fd.",
			"End the process that has them, or raise `fs.file-max`.",
		},
		{
			NoMemory, "no-memory", "The kernel has no memory or no buffer left for a socket." + keeps,
			"Look at `free`, at the memory limit of the unit or pod, and at `sysctl net.ipv4.tcp_mem`.",
			"Free memory, or raise the limit.",
		},
		{
			NoProcess, "no-process", "The kernel starts no further process." + keeps,
			"Look at `pids.max` of the unit or pod, and at `sysctl kernel.pid_max kernel.threads-max`.",
			"End processes, or raise the limit (`TasksMax=` of the unit).",
		},
		{
			NoPort, "no-port", "This host has no local port left for a connection to that service." + keeps,
			"Look at `ss -tan | wc -l` and at `sysctl net.ipv4.ip_local_port_range`.",
			"End the program that opens so many connections, or widen the range.",
		},
	}
}
