package code

// Codes of a lease that the holder keeps at a DHCP server.
const (
	LeaseUnanswered Code = "KV255"
	LeaseRefused    Code = "KV256"
)

func holdLease() []Entry {
	return []Entry{
		{
			LeaseUnanswered, "dhcp-lease-unanswered", "No DHCP server answers the holder, so one may give the address to another host. The address stays where it is.",
			"Look at DHCP in the holder's status. On that node look at `tcpdump -eni IFACE port 67 or port 68`.",
			"Start the server, or let the network pass DHCP. Where there is no DHCP server, leave out `dhcp`.",
		},
		{
			LeaseRefused, "dhcp-lease-refused", "A DHCP server refuses the lease of the address, or offers another address. The address stays where it is.",
			"Look at DHCP in the holder's status for the client identifier, and in the server's leases for another owner.",
			"Reserve the address for that client identifier on the server. docs/dhcp.md has how.",
		},
	}
}
