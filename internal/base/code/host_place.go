package code

// KV42x to KV43x: where the address would be on this host, and what the kernel was told about it.
const (
	NoSubnet       Code = "KV421"
	OwnAddress     Code = "KV422"
	BoundByOther   Code = "KV423"
	NetworkAddress Code = "KV424"
	SmallMTU       Code = "KV425"
	SecondLink     Code = "KV426"
	ARPIgnore      Code = "KV431"
	ARPFilter      Code = "KV432"
	ProxyARP       Code = "KV433"
	StrictRPFilter Code = "KV434"
	NonlocalBind   Code = "KV435"
	NoIPv6         Code = "KV436"
	DADDisables    Code = "KV437"
	RouterAdverts  Code = "KV438"
)

func hostPlace() []Entry {
	return []Entry{
		{
			NoSubnet, "no-subnet", "The host has no subnet that contains the address, so neighbours do not look for it there.",
			"Look at `ip address`, which lists the subnets.",
			"Choose an address of the nodes' own subnet, or name the interface by `interface` if a router sends the address there.",
		},
		{
			OwnAddress, "own-address", "The virtual address is the host's own.",
			"Look at `ip address`, which shows it with a subnet.",
			"Choose an address that no host has.",
		},
		{
			BoundByOther, "bound-by-other", "The virtual address is on this host already, and keepvip has not put it there.",
			"Look for a keepalived, a kube-vip, an agent of the cloud, and in the network configuration of the host.",
			"Stop what holds it, and remove it by `ip address del`.",
		},
		{
			NetworkAddress, "network-address", "The virtual address is the network or broadcast address of its subnet, or for IPv6 the routers' anycast address.",
			"Look at the prefix length of the interface's own address.",
			"Choose an address that a host may have.",
		},
		{
			SmallMTU, "small-mtu", "The MTU of the interface is too small for the members' messages and for IPv6.",
			"Look at `ip link show dev INTERFACE`.",
			"Set an MTU of 1280 bytes or more, the same on all nodes.",
		},
		{
			SecondLink, "second-link", "Two interfaces of the host are in the subnet of the address: the other one may ask for neighbours in its name.",
			"Look at `ip address`.",
			"Give the other interface another subnet, or set `net.ipv4.conf.all.arp_announce=2`.",
		},
		{
			ARPIgnore, "arp-ignore", "The kernel does not answer ARP requests for the address.",
			"Look at `sysctl net.ipv4.conf.all.arp_ignore` and that of the interface: the greater one counts.",
			"Set both to 0 or 1.",
		},
		{
			ARPFilter, "arp-filter", "The kernel answers ARP requests only where its route to the asker leaves.",
			"Look at `sysctl net.ipv4.conf.all.arp_filter` and that of the interface.",
			"Set both to 0; against answers on the wrong interface `arp_ignore=1` is the remedy.",
		},
		{
			ProxyARP, "proxy-arp", "The host answers ARP requests for addresses of others, and may do so for the virtual one.",
			"Look at `sysctl net.ipv4.conf.all.proxy_arp` and that of the interface.",
			"Set both to 0 on the interface of the address.",
		},
		{
			StrictRPFilter, "strict-rp-filter", "The kernel drops what comes in where its route to the sender does not leave: clients of other subnets are not heard.",
			"Look at `sysctl net.ipv4.conf.all.rp_filter` and that of the interface, and `ip route`.",
			"Set `rp_filter` to 2 on the interface, or let the default route leave there.",
		},
		{
			NonlocalBind, "nonlocal-bind", "A program of this host may use the address while another host holds it.",
			"Look at `sysctl net.ipv4.ip_nonlocal_bind`.",
			"Set it to 0, unless a program here has to listen on the address before the address is here.",
		},
		{
			NoIPv6, "no-ipv6", "IPv6 is off on the interface, and a virtual address is of IPv6.",
			"Look at `sysctl net.ipv6.conf.INTERFACE.disable_ipv6`.",
			"Set it to 0.",
		},
		{
			DADDisables, "dad-disables", "A duplicate of the interface's link-local address would switch IPv6 off there.",
			"Look at `sysctl net.ipv6.conf.all.accept_dad` and that of the interface.",
			"Set both to 1.",
		},
		{
			RouterAdverts, "router-adverts", "A host that forwards hears no router advertisements unless it is told to: an address that a router has given ends.",
			"Look at `sysctl net.ipv6.conf.INTERFACE.accept_ra`, and the lifetimes in `ip -6 address`.",
			"Set `accept_ra` to 2, or give the node a fixed address.",
		},
	}
}
