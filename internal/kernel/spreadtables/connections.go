package spreadtables

import (
	"errors"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/kernel/conntrack"
)

// connections are those to what is spread: which these are, of all that connection tracking knows.
type connections struct {
	addresses  []netip.Addr
	ports      []Port
	self       []netip.Addr // this node's own addresses
	masquerade bool
}

func (c Config) connections() *connections {
	return &connections{c.Addresses, c.Ports, c.Self, c.Masquerade}
}

// Census is what this node serves, or with Masquerade translates, by its connection tracking: connections of TCP that are open at one end at
// least, and flows of UDP.
type Census struct {
	Ports   map[Port]int       // how many to each port that is spread
	Own     int                // how many of all these were made by programs of this node
	To      map[netip.Addr]int // how many go to each member: with Masquerade all of them, else those of this host's own programs, which are in no other count
	Direct  map[netip.Addr]int // how many came to this node's own addresses, at the ports where members serve, by who made them: followers do
	Clients []Client           // of TCP, both ends of which are open, of all that other hosts have by this node; at most as many as were asked for
}

// Client is at one end of a connection of TCP to an address that is spread.
type Client struct{ At, To netip.AddrPort }

// Count counts the connections. The kernel goes through all that it tracks for it, which may take long.
func (t *Tables) Count(clients int) (Census, error) {
	applied := t.applied.Load()
	if applied == nil {
		return Census{}, t.wrap("count connections of", errors.New("nothing was applied yet"))
	}
	out := Census{Ports: make(map[Port]int, len(applied.ports)), To: map[netip.Addr]int{}, Direct: map[netip.Addr]int{}}
	for _, p := range applied.ports {
		out.Ports[p] = 0
	}
	tracking, err := conntrack.Open()
	if err != nil {
		return Census{}, t.wrap("count connections of", err)
	}
	defer tracking.Close()
	err = applied.eachTo(tracking, true, func(p Port, e conntrack.Entry) {
		if !applied.spreads(e) {
			if !applied.own(e) && (e.Protocol != unix.IPPROTO_TCP || e.Open()) {
				out.Direct[e.Source.Addr()]++
			}
			return
		}
		serves := applied.serves(e)
		if e.Protocol == unix.IPPROTO_TCP && !e.Open() {
			return
		}
		if translated(e) && serves == applied.masquerade {
			out.To[e.Answers.Addr()]++
		}
		if serves {
			out.Ports[p]++
			if applied.own(e) {
				out.Own++
			}
		}
		if applied.known(e) && len(out.Clients) < clients {
			out.Clients = append(out.Clients, Client{At: e.Source, To: e.Dest})
		}
	})
	if err != nil {
		return Census{}, t.wrap("count connections of", err)
	}
	return out, nil
}

// each goes through the connections to all ports that are served here, in the families of the addresses.
func (c *connections) each(tracking *conntrack.Conn, do func(p Port, e conntrack.Entry)) error {
	return c.eachTo(tracking, false, func(p Port, e conntrack.Entry) {
		if c.serves(e) {
			do(p, e)
		}
	})
}

// eachTo goes through the connections to the addresses at all ports, whoever serves them; with here also through those that others make to this
// node's own addresses where its services listen. However many there are, few of them are in memory.
func (c *connections) eachTo(tracking *conntrack.Conn, here bool, do func(p Port, e conntrack.Entry)) error {
	for _, f := range []family{ipv4(), ipv6()} {
		if len(f.all(c.addresses)) == 0 {
			continue
		}
		for _, p := range c.ports {
			at := []uint16{p.Port}
			if here && p.Target != p.Port {
				at = append(at, p.Target)
			}
			for _, port := range at {
				err := tracking.Each(f.number, p.Protocol, port, func(e conntrack.Entry) {
					if port == p.Port && c.spreads(e) || here && port == p.Target && slices.Contains(c.self, e.Dest.Addr()) {
						do(p, e)
					}
				})
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// serves tells whether a connection to a port that is spread is to an address that is, and is served by this node, or with Masquerade is translated by
// it. What programs and pods of this node connect to while another one holds the address goes there as it is, unless this one never holds it: the
// address itself answers.
func (c *connections) serves(e conntrack.Entry) bool {
	if c.masquerade {
		return c.spreads(e) && translated(e)
	}
	return c.spreads(e) && slices.Contains(c.self, e.Answers.Addr())
}

// known tells whether this node alone knows the client of a connection: what it serves, and what it masquerades, or has masqueraded before.
func (c *connections) known(e conntrack.Entry) bool {
	if e.Protocol != unix.IPPROTO_TCP || e.State != conntrack.Established {
		return false
	}
	return c.serves(e) || translated(e) && !c.own(e)
}

// spreads tells whether a connection to a port that is spread is to an address that is.
func (c *connections) spreads(e conntrack.Entry) bool {
	return slices.Contains(c.addresses, e.Dest.Addr())
}

// translated tells whether another one than the address itself answers.
func translated(e conntrack.Entry) bool { return e.Answers.Addr() != e.Dest.Addr() }

// own tells whether a connection was made by a program of this node: where the address is, the kernel gives it the address itself as its source.
func (c *connections) own(e conntrack.Entry) bool {
	source := e.Source.Addr()
	return source == e.Dest.Addr() || source.IsLoopback() || slices.Contains(c.self, source)
}
