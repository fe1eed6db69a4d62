package intercept

import (
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// Config is what the tables of one entry are to do.
type Config struct {
	// Targets are what clients connect to.
	Targets []Target
	// Incoming: not only what this host itself connects to (the kubelet, kube-proxy, what has hostNetwork), also what comes in from any link, as where
	// routers send packets for the addresses here. That is for this host, and for no other one behind it. A packet of a TCP connection that this host
	// does not know is then given to a backend, too, whose kernel answers that there is no such connection.
	Incoming bool
	// Lifetime is how long the tables do something without being renewed. At least a second.
	Lifetime time.Duration
}

// Target is a virtual address with a port. One without a backend that gets new connections is left to the network.
type Target struct {
	Address  netip.Addr
	Protocol uint8 // 6 (TCP) or 17 (UDP)
	Port     uint16
	Backends []Backend // the healthy ones; one that is listed twice, or is of another family than Address, is passed over
}

// Backend is a server of a target: for a follower a member's own address, with the port that its service listens on.
type Backend struct {
	At     netip.AddrPort
	Weight uint8 // its share of new connections, beside those of the others; 0: none
}

func (c Config) check() error {
	type place struct {
		address  netip.AddrPort
		protocol uint8
	}
	seen := make(map[place]bool)
	for _, t := range c.Targets {
		key := place{netip.AddrPortFrom(t.Address, t.Port), t.Protocol}
		switch {
		case t.Protocol != unix.IPPROTO_TCP && t.Protocol != unix.IPPROTO_UDP:
			return fmt.Errorf("intercept: port %d: protocol %d, want %d (TCP) or %d (UDP)", t.Port, t.Protocol, unix.IPPROTO_TCP, unix.IPPROTO_UDP)
		case !usable(t.Address, t.Port):
			return fmt.Errorf("intercept: %s: want an address without a zone, and a port", netip.AddrPortFrom(t.Address, t.Port))
		case seen[key]:
			return fmt.Errorf("intercept: %s of protocol %d: listed twice", netip.AddrPortFrom(t.Address, t.Port), t.Protocol)
		}
		seen[key] = true
		for _, b := range t.Backends {
			if !usable(b.At.Addr(), b.At.Port()) {
				return fmt.Errorf("intercept: backend %s: want an address without a zone, and a port", b.At)
			}
		}
	}
	if c.Lifetime < time.Second {
		return fmt.Errorf("intercept: lifetime %s, want a second at least", c.Lifetime)
	}
	return nil
}

func usable(a netip.Addr, port uint16) bool {
	return a.IsValid() && a.Zone() == "" && !a.Is4In6() && !a.IsUnspecified() && !a.IsMulticast() && port != 0
}
