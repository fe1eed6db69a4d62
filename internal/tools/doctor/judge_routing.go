package doctor

import (
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/tools/routing"
)

// judgeRouting looks whether a routing daemon of this host takes the route to v, and tells its routers of it.
func judgeRouting(out *findings, f Facts, v config.VIP) {
	if !v.Routed() {
		return
	}
	found := routing.Judge(f.Routing, routing.Announcement{
		Addresses: addressesOf(v), Table: v.Announce.Table, Protocol: int(v.Announce.Protocol), Now: f.Announced[v.Name],
	})
	severity := Error
	switch found.Code {
	case "":
		return
	case code.NoRoutingDaemon:
		severity = Warning
	case code.RoutingDaemonSilent:
		severity = Note
	}
	out.add(Finding{Code: found.Code, Severity: severity, VIP: v.Name, What: found.What})
}
