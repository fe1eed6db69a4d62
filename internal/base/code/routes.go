package code

// KV35x: routes to the addresses, for routers.
const (
	RouteLost           Code = "KV350"
	RouteOutlives       Code = "KV351"
	ServesFit           Code = "KV352"
	NoTranslation       Code = "KV353"
	StaysUnhealthy      Code = "KV354"
	NoRoutingDaemon     Code = "KV355"
	RouteNotTaken       Code = "KV356"
	RouteNotTold        Code = "KV357"
	RoutingDaemonSilent Code = "KV358"
)

func routes() []Entry {
	return []Entry{
		{
			RouteLost, "route-lost", "The route to the address was not in its table any more, or its device was gone, and keepvip has put it back.",
			"Look at ip route show table 198 on this node, with the table of announce.table, and at what changes routes there: a script, or a network manager.",
			"Have that program leave the routes of keepvip's protocol alone. If it comes once, nothing has to be done.",
		},
		{
			RouteOutlives, "route-outlives", "This node can make no TUN device, so the route to the address would stay if keepvip was killed.",
			"Look whether /dev/net/tun is there, in the pod too, and whether the container may use it.",
			"Load the kernel's module tun, and mount /dev/net/tun into the pod as keepvip manifest does.",
		},
		{
			ServesFit, "serves-fit", "This node serves the address because its checks are good. Other nodes decide for themselves.",
			"Look at the status of the other nodes, and at the routes on the router.", "Nothing has to be done.",
		},
		{
			NoTranslation, "no-translation", "Packets of clients to the address cannot be translated to this node's own address, so this node announces no route.",
			"Look at the reason: it has the answer of the kernel, or the family in which this node has no own address.",
			"Load the kernel's nf_tables and nft_nat, or give the node an address of that family.",
		},
		{
			StaysUnhealthy, "stays-unhealthy", "This node announces the address although its checks fail, because no fit node is heard: check.whenAllUnhealthy is hold.",
			"Look at the check of each node by keepvip status, and whether the nodes hear each other: vrrp.peers, where they share no link.",
			"Repair the service. A node that is fit again has the others withdraw within about 100 ms.",
		},
		{
			NoRoutingDaemon, "no-routing-daemon", "No routing daemon is found on this host, so routers may not learn of the route to the address.",
			"Look whether BIRD or FRR runs here, and where its socket is: /run/bird/bird.ctl, /run/frr/zebra.vty. A daemon in a pod may keep its socket to itself.",
			"Start BIRD or FRR on this host, as docs/routes.md has it, or a network plugin that takes routes of the kernel.",
		},
		{
			RouteNotTaken, "route-not-taken", "The routing daemon of this host does not have the route to the address, so it tells no router of it.",
			"Look at birdc show route protocol keepvip4, or at vtysh -c 'show ip route kernel', and at the table and protocol of the daemon's configuration.",
			"Have the daemon take the table of announce.table, as docs/routes.md has it. FRR takes the main table alone: set announce.table to 254.",
		},
		{
			RouteNotTold, "route-not-told", "The routing daemon of this host has the route to the address, and tells no router of it.",
			"Look at birdc show protocols, or at vtysh -c 'show bgp summary': a neighbour without a session, or a filter that leaves the route out.",
			"Bring the session up, or let the daemon's export filter, or route-map, pass the route.",
		},
		{
			RoutingDaemonSilent, "routing-daemon-silent", "A routing daemon runs on this host, and could not be asked whether it has the route.",
			"Look at the error, and at who may use the daemon's socket.",
			"Run the doctor as root, or as a user of the groups bird or frrvty.",
		},
	}
}
