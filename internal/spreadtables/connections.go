package spreadtables

import (
	"errors"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/conntrack"
)

// Connections is how many connections to each port that is spread this node serves, by its connection tracking: those of TCP that are open
// at one end at least, and the flows of UDP. The kernel goes through all that it tracks for it, which may take long.
func (t *Tables) Connections() (map[Port]int, error) {
	applied := t.newest()
	if applied == nil {
		return nil, t.wrap("count connections of", errors.New("nothing was applied yet"))
	}
	out := make(map[Port]int, len(applied.Ports))
	for _, p := range applied.Ports {
		out[p] = 0
	}
	err := applied.count(func(p Port, _ netip.Addr) { out[p]++ })
	if err != nil {
		return nil, t.wrap("count connections of", err)
	}
	return out, nil
}

// Served are the connections that this node translates, by the member that each goes to. Without Masquerade there are none.
func (t *Tables) Served() (map[netip.Addr]int, error) {
	out := map[netip.Addr]int{}
	applied := t.newest()
	if applied == nil || !applied.Masquerade {
		return out, nil
	}
	err := applied.count(func(_ Port, by netip.Addr) { out[by]++ })
	return out, t.wrap("count connections of", err)
}

// newest is what was applied last; nil: nothing yet.
func (t *Tables) newest() *Config {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.applied
}

// count calls one for each connection that is open, with who serves it.
func (c *Config) count(one func(p Port, by netip.Addr)) error {
	tracking, err := conntrack.Open()
	if err != nil {
		return err
	}
	defer tracking.Close()
	return c.each(tracking, func(p Port, e conntrack.Entry) {
		if e.Protocol != unix.IPPROTO_TCP || e.Open() {
			one(p, e.Answers.Addr())
		}
	})
}

// each goes through the connections to all ports that are served here, in the families of the addresses. However many there are, few of them are
// in memory.
func (c *Config) each(tracking *conntrack.Conn, do func(p Port, e conntrack.Entry)) error {
	for _, f := range []family{ipv4(), ipv6()} {
		if len(f.all(c.Addresses)) == 0 {
			continue
		}
		for _, p := range c.Ports {
			err := tracking.Each(f.number, p.Protocol, p.Port, func(e conntrack.Entry) {
				if c.serves(e) {
					do(p, e)
				}
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// serves tells whether a connection to a port that is spread is to an address that is, and is served by this node, or with Masquerade by way of it.
func (c *Config) serves(e conntrack.Entry) bool {
	return slices.Contains(c.Addresses, e.Dest.Addr()) && (c.Masquerade || slices.Contains(c.Self, e.Answers.Addr()))
}
