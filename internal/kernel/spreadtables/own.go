package spreadtables

import (
	"net/netip"
	"slices"

	"github.com/keepvip/keepvip/internal/kernel/conntrack"
	"github.com/keepvip/keepvip/internal/kernel/localconn"
)

// EndOwn ends the connections to the addresses that this host translates to these members, of which nothing will be heard any more: no other host
// knows of them. They are those of this host's own programs, and those that it has masqueraded before the load was spread directly. It returns how many
// there were, and the clients of the latter, which are to be told by Poke. It comes after an Apply that gives these members no new connections, as else
// the next one could go there, too. It may take long, and goes on beside all others.
func (t *Tables) EndOwn(members ...netip.Addr) (int, []Client, error) {
	applied := t.applied.Load()
	if applied == nil || len(members) == 0 {
		return 0, nil, nil
	}
	n, clients, err := applied.endOwn(members)
	return n, clients, t.wrap("end connections of this host by", err)
}

func (c *connections) endOwn(members []netip.Addr) (int, []Client, error) {
	tracking, err := conntrack.Open()
	if err != nil {
		return 0, nil, err
	}
	defer tracking.Close()
	var list []conntrack.Entry
	err = c.eachTo(tracking, false, func(_ Port, e conntrack.Entry) {
		if e.Alive() && slices.Contains(members, e.Answers.Addr()) {
			list = append(list, e)
		}
	})
	if err != nil {
		return 0, nil, err
	}
	ended, err := localconn.End(tracking, list)
	return ended.Sockets + ended.Entries, clientsOf(slices.DeleteFunc(list, c.own)), err
}
