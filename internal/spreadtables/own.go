package spreadtables

import (
	"net/netip"
	"slices"

	"github.com/keepvip/keepvip/internal/conntrack"
	"github.com/keepvip/keepvip/internal/localconn"
)

// EndOwn ends the connections that this host's own programs have to the addresses and that go to these members, of which nothing will be heard any
// more: no other host knows of them. It returns how many there were. It comes after an Apply that gives these members no new connections, as else
// the next one could go there, too. It may take long, and goes on beside all others.
func (t *Tables) EndOwn(members ...netip.Addr) (int, error) {
	applied := t.newest()
	if applied == nil || len(members) == 0 {
		return 0, nil
	}
	n, err := applied.endOwn(members)
	return n, t.wrap("end connections of this host by", err)
}

func (c *Config) endOwn(members []netip.Addr) (int, error) {
	tracking, err := conntrack.Open()
	if err != nil {
		return 0, err
	}
	defer tracking.Close()
	var list []conntrack.Entry
	err = c.eachTo(tracking, func(_ Port, e conntrack.Entry) {
		if e.Alive() && slices.Contains(members, e.Answers.Addr()) {
			list = append(list, e)
		}
	})
	if err != nil {
		return 0, err
	}
	ended, err := localconn.End(tracking, list)
	return ended.Sockets + ended.Entries, err
}
