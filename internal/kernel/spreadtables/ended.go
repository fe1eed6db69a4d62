package spreadtables

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/keepvip/keepvip/internal/kernel/conntrack"
)

// A connection that this host translates has no socket here, so nothing tells its client that the member is gone, or that the address is
// leaving. What ends it is that connection tracking forgets it: all that the client says from then on belongs to no connection, and is answered
// by a reset, here or where the address is. A client that is silent is asked: a segment far out of its window, from the address, has it
// say where it is (RFC 9293 section 3.10.7.4), and the answer to that is the reset. One that has not been answered yet is not told: its
// next SYN begins the connection with another member.

// End ends the connections to the addresses that this node translates to these members, and tells the clients; without members those to all.
// It returns how many there were, and the clients that were told. Without Masquerade there are none.
func (t *Tables) End(members ...netip.Addr) (int, []Client, error) {
	applied := t.applied.Load()
	if applied == nil || !applied.masquerade {
		return 0, nil, nil
	}
	n, clients, err := applied.end(members)
	return n, clients, t.wrap("end connections of", err)
}

// Forget has the kernel forget connections that these members have reset, of those that this node translates. The kernel knows such a one for ten
// seconds more, and would give the next one from the same port of its client to the same member. Without Masquerade there are none.
func (t *Tables) Forget(members ...netip.Addr) error {
	applied := t.applied.Load()
	if applied == nil || !applied.masquerade || len(members) == 0 {
		return nil
	}
	return t.wrap("forget connections of", applied.forget(members))
}

func (c *connections) forget(members []netip.Addr) error {
	tracking, err := conntrack.Open()
	if err != nil {
		return err
	}
	defer tracking.Close()
	var list []conntrack.Entry
	err = c.each(tracking, func(_ Port, e conntrack.Entry) {
		if e.State == conntrack.Closed && slices.Contains(members, e.Answers.Addr()) {
			list = append(list, e)
		}
	})
	if err != nil || len(list) == 0 {
		return err
	}
	return tracking.Delete(list...)
}

func (c *connections) end(members []netip.Addr) (int, []Client, error) {
	tracking, err := conntrack.Open()
	if err != nil {
		return 0, nil, err
	}
	defer tracking.Close()
	var list []conntrack.Entry
	err = c.each(tracking, func(_ Port, e conntrack.Entry) {
		if ends(e, members) {
			list = append(list, e)
		}
	})
	if err != nil || len(list) == 0 {
		return 0, nil, err
	}
	err = tracking.Delete(list...)
	clients := clientsOf(list)
	if poke := Poke(clients); !errors.Is(poke, errNotSent) { // the connections are ended all the same
		err = errors.Join(err, poke)
	}
	return len(list), clients, err
}

// ends tells whether a connection is one that ends with these members; without any, each does.
func ends(e conntrack.Entry, members []netip.Addr) bool {
	return e.Alive() && (len(members) == 0 || slices.Contains(members, e.Answers.Addr()))
}
