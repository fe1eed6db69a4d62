package doctor

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/tools/routing"
)

// judgeRouting looks whether a routing daemon of this host takes the route to v, and tells its routers of it.
func judgeRouting(out *findings, f Facts, v config.VIP) {
	if !v.Routed() {
		return
	}
	say := func(c code.Code, s Severity, format string, args ...any) {
		out.add(Finding{Code: c, Severity: s, VIP: v.Name, What: fmt.Sprintf(format, args...)})
	}
	if len(f.Routing) == 0 {
		say(code.NoRoutingDaemon, Warning, "no routing daemon is found on this host (BIRD's bird.ctl, FRR's zebra.vty): who tells routers of %s is not known", first(v))
		return
	}
	var silent []string // why no daemon tells of the route
	taken, told := false, false
	for _, d := range f.Routing {
		if d.Err != nil {
			say(code.RoutingDaemonSilent, Note, "%s could not be asked whether it has the route: %v", d.Name, d.Err)
			return // what it knows may be what is missed
		}
		for _, a := range addressesOf(v) {
			r := d.Routes[a]
			taken, told = taken || r.Taken, told || len(r.Leaves) > 0
			if r.Taken && len(r.Leaves) == 0 {
				silent = append(silent, fmt.Sprintf("%s has the route to %s, and tells nobody of it: %s", d.Name, a, noNeighbour(d)))
			}
		}
	}
	switch {
	case !f.Announced[v.Name], told && len(silent) == 0: // there is nothing to take, or all is well
	case !taken && f.Routing[0].Name == "FRR" && v.Announce.Table != mainTable:
		say(code.RouteNotTaken, Error, "FRR does not have the route to %s: it takes those of the main table, %d, and announce.table is %d", first(v), mainTable, v.Announce.Table)
	case !taken:
		say(code.RouteNotTaken, Error, "%s does not have the route to %s of table %d, protocol %d", names(f.Routing), first(v), v.Announce.Table, v.Announce.Protocol)
	case len(silent) > 0:
		say(code.RouteNotTold, Error, "%s", strings.Join(silent, "; "))
	}
}

// mainTable is the routing table that the kernel goes by, and FRR takes routes of.
const mainTable = 254

// noNeighbour is why a daemon tells nobody.
func noNeighbour(d routing.Daemon) string {
	return cmp.Or(strings.Join(d.Down, ", "), "every neighbour's filter leaves it out")
}

func names(all []routing.Daemon) string {
	var out []string
	for _, d := range all {
		out = append(out, d.Name)
	}
	return strings.Join(out, " and ")
}
