package routing

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	"github.com/keepvip/keepvip/internal/base/code"
)

// Announcement is what routers are to learn of.
type Announcement struct {
	Addresses       []netip.Addr // one at least
	Table, Protocol int          // of the routes
	Now             bool         // this host has the routes
}

// Finding is why routers may not learn of it.
type Finding struct {
	Code code.Code
	What string
}

// Judge looks whether the daemons that were found take the routes, and tell their routers. Without a Code nothing is wrong, and What is who is told, as
// far as there is something to tell.
func Judge(all []Daemon, of Announcement) Finding {
	first := of.Addresses[0]
	if len(all) == 0 {
		return Finding{code.NoRoutingDaemon, fmt.Sprintf("no routing daemon is found on this host (BIRD's bird.ctl, FRR's zebra.vty): who tells routers of %s is not known", first)}
	}
	for _, d := range all {
		if d.Err != nil { // what it knows may be what is missed
			return Finding{code.RoutingDaemonSilent, fmt.Sprintf("%s could not be asked whether it has the route: %v", d.Name, d.Err)}
		}
	}
	if !of.Now {
		return Finding{}
	}
	var missing []netip.Addr  // that no daemon has a route to
	var silent, told []string // why no daemon tells of a route, and who is told of one
	for _, a := range of.Addresses {
		tell, keep := routeOf(all, a)
		switch told = append(told, tell...); {
		case len(tell) == 0 && len(keep) == 0:
			missing = append(missing, a)
		case len(tell) == 0:
			silent = append(silent, keep...)
		}
	}
	switch {
	case len(missing) > 0 && all[0].Name == "FRR" && of.Table != mainTable:
		return Finding{code.RouteNotTaken, fmt.Sprintf("FRR does not have the route to %s: it takes those of the main table, %d, and announce.table is %d", some(missing), mainTable, of.Table)}
	case len(missing) > 0:
		return Finding{code.RouteNotTaken, fmt.Sprintf("%s does not have the route to %s of table %d, protocol %d", names(all), some(missing), of.Table, of.Protocol)}
	case len(silent) > 0:
		return Finding{code.RouteNotTold, strings.Join(silent, "; ")}
	}
	return Finding{What: strings.Join(told, "; ")}
}

// routeOf is which daemons tell routers of the route to an address, and which have it and do not.
func routeOf(all []Daemon, a netip.Addr) (tell, keep []string) {
	for _, d := range all {
		switch r := d.Routes[a]; {
		case len(r.Leaves) > 0:
			tell = append(tell, fmt.Sprintf("%s tells %s of the route to %s", d.Name, strings.Join(r.Leaves, ", "), a))
		case r.Taken:
			keep = append(keep, fmt.Sprintf("%s has the route to %s, and tells nobody of it: %s", d.Name, a, noNeighbour(d)))
		}
	}
	return tell, keep
}

// some names the first of several addresses.
func some(of []netip.Addr) string {
	if more := len(of) - 1; more > 0 {
		return fmt.Sprintf("%s and %d more", of[0], more)
	}
	return of[0].String()
}

// mainTable is the routing table that the kernel goes by, and FRR takes routes of.
const mainTable = 254

// noNeighbour is why a daemon tells nobody.
func noNeighbour(d Daemon) string {
	return cmp.Or(strings.Join(d.Down, ", "), "every neighbour's filter leaves it out")
}

func names(all []Daemon) string {
	var out []string
	for _, d := range all {
		out = append(out, d.Name)
	}
	return strings.Join(out, " and ")
}
