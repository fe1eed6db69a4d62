package intercept

import (
	"errors"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/kernel/conntrack"
	"github.com/keepvip/keepvip/internal/kernel/localconn"
)

// Destroy ends the connections that were translated to these servers, of which nothing will be heard any more: a client that only reads would
// wait for as long as its own timeouts say. Those that have arrived at a server by the network are not known here. The targets
// are those of the last Apply, so it comes before one that takes them away, and it comes after one that takes the servers away, as
// else a next connection could be made to them.
func (t *Table) Destroy(servers ...netip.Addr) (localconn.Ended, error) {
	applied := t.applied.Load()
	if applied == nil || len(servers) == 0 {
		return localconn.Ended{}, nil
	}
	ended, err := applied.end(func(e conntrack.Entry) bool { return slices.Contains(servers, e.Answers.Addr()) })
	return ended, t.wrap("end connections by", err)
}

// Forget has the kernel forget connections to these servers that were reset. It knows such a one for ten seconds more, and takes a new one from the
// same port of this host for it where only the server had ended it: as after the death of a process, which it would translate to that server
// once again. The targets are those of the last Apply, so it comes after one that takes the servers away, and not the targets.
func (t *Table) Forget(servers ...netip.AddrPort) error {
	applied := t.applied.Load()
	if applied == nil || len(servers) == 0 {
		return nil
	}
	return t.wrap("forget connections by", applied.forget(servers))
}

// Connections counts those that were translated, by the server that each goes to: of TCP those that are open, of UDP the flows. The targets are those
// of the last Apply.
func (t *Table) Connections() (map[netip.Addr]int, error) {
	out := map[netip.Addr]int{}
	err := t.each("count connections by", func(e conntrack.Entry) {
		if counts(e) {
			out[e.Answers.Addr()]++
		}
	})
	return out, err
}

// Client is at one end of a connection to a target.
type Client struct {
	At   netip.AddrPort
	Open bool // of TCP: the connection is open; of UDP: the kernel knows the flow
}

// Clients are those of all connections that were translated, also of those that have ended, for as long as the kernel knows them. The targets are those of
// the last Apply.
func (t *Table) Clients() (out []Client, err error) {
	err = t.each("list clients by", func(e conntrack.Entry) { out = append(out, Client{e.Source, counts(e)}) })
	return out, err
}

// counts tells whether a connection goes on: of TCP one that is open, of UDP any.
func counts(e conntrack.Entry) bool { return e.Protocol != unix.IPPROTO_TCP || e.Open() }

// each goes through the connections that were translated. The targets are those of the last Apply.
func (t *Table) each(what string, do func(conntrack.Entry)) error {
	applied := t.applied.Load()
	if applied == nil {
		return nil
	}
	tracking, err := conntrack.Open()
	if err != nil {
		return t.wrap(what, err)
	}
	defer tracking.Close()
	return t.wrap(what, applied.each(tracking, do))
}

func (c *Config) forget(servers []netip.AddrPort) error {
	tracking, err := conntrack.Open()
	if err != nil {
		return err
	}
	defer tracking.Close()
	entries, err := c.translated(tracking, func(e conntrack.Entry) bool {
		return e.State == conntrack.Closed && slices.Contains(servers, e.Answers)
	})
	for _, e := range entries {
		err = errors.Join(err, tracking.Delete(e))
	}
	return err
}

// end ends some of the connections that were translated, of those that are not at their end.
func (c *Config) end(which func(conntrack.Entry) bool) (localconn.Ended, error) {
	tracking, err := conntrack.Open()
	if err != nil {
		return localconn.Ended{}, err
	}
	defer tracking.Close()
	entries, err := c.translated(tracking, func(e conntrack.Entry) bool { return e.Alive() && which(e) })
	if err != nil {
		return localconn.Ended{}, err
	}
	return localconn.End(tracking, entries)
}

func (c *Config) translated(tracking *conntrack.Conn, which func(conntrack.Entry) bool) (entries []conntrack.Entry, err error) {
	err = c.each(tracking, func(e conntrack.Entry) {
		if which(e) {
			entries = append(entries, e)
		}
	})
	return entries, err
}

// each goes through the connections that were translated.
func (c *Config) each(tracking *conntrack.Conn, do func(conntrack.Entry)) error {
	type ask struct {
		family, protocol uint8
		port             uint16
	}
	asked := map[ask]bool{}
	for _, t := range c.Targets {
		a := ask{unix.NFPROTO_IPV6, t.Protocol, t.Port}
		if t.Address.Is4() {
			a.family = unix.NFPROTO_IPV4
		}
		if asked[a] {
			continue
		}
		asked[a] = true
		err := tracking.Each(a.family, a.protocol, a.port, func(e conntrack.Entry) {
			if c.has(e) && e.Answers != e.Dest {
				do(e)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Config) has(e conntrack.Entry) bool {
	return slices.ContainsFunc(c.Targets, func(t Target) bool {
		return t.Protocol == e.Protocol && netip.AddrPortFrom(t.Address, t.Port) == e.Dest
	})
}
