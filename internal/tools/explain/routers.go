package explain

import (
	"time"

	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/internal/tools/routing"
)

// Routers is whether routers learn where the address is, as the routing daemons of this host say; nothing of an address without a route.
func Routers(s *instance.Status, found []routing.Daemon) []Fact {
	if s.Route == nil || len(s.Addresses) == 0 {
		return nil
	}
	of := routing.Announcement{Table: s.Route.Table, Protocol: s.Route.Protocol, Now: s.Route.Present > 0}
	for _, a := range s.Addresses {
		of.Addresses = append(of.Addresses, a.Addr())
	}
	c := &chain{Status: s}
	switch f := routing.Judge(found, of); {
	case f.Code != "":
		c.say(f.Code, time.Time{}, f.What)
	case f.What != "":
		c.fine(time.Time{}, f.What)
	}
	return c.facts
}
