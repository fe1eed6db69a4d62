package doctor

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/tools/routing"
)

func TestRoutingDaemon(t *testing.T) {
	vip := netip.MustParseAddr("10.99.0.100")
	asked := func(name string, r routing.Route, down ...string) []routing.Daemon {
		return []routing.Daemon{{Name: name, Routes: map[netip.Addr]routing.Route{vip: r}, Down: down}}
	}
	all := routing.Route{Taken: true, Leaves: []string{"uplink"}}
	for _, tt := range []struct {
		name    string
		found   []routing.Daemon
		table   int
		nothing bool // is announced
		want    code.Code
		text    string
	}{
		{"none", nil, 198, false, code.NoRoutingDaemon, "who tells routers of 10.99.0.100 is not known"},
		{"all is well", asked("BIRD", all), 198, false, "", ""},
		{"not taken", asked("BIRD", routing.Route{}), 198, false, code.RouteNotTaken, "BIRD does not have the route to 10.99.0.100 of table 198, protocol 248"},
		{"nothing to take", asked("BIRD", routing.Route{}), 198, true, "", ""},
		{"no session", asked("BIRD", routing.Route{Taken: true}, "uplink: BGP start Active"), 198, false, code.RouteNotTold, "tells nobody of it: uplink: BGP start Active"},
		{"a filter", asked("FRR", routing.Route{Taken: true}), 254, false, code.RouteNotTold, "every neighbour's filter leaves it out"},
		{"FRR with another table", asked("FRR", routing.Route{}), 198, false, code.RouteNotTaken, "it takes those of the main table, 254, and announce.table is 198"},
		{"FRR by table-direct", asked("FRR", routing.Route{Leaves: []string{"10.77.0.254"}}), 198, false, "", ""},
		{"refused", []routing.Daemon{{Name: "BIRD", Err: errors.New("permission denied")}}, 198, false, code.RoutingDaemonSilent, "could not be asked"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := config.VIP{Name: "api", Addresses: []netip.Prefix{netip.PrefixFrom(vip, 32)}, Election: config.ElectionLocal}
			v.Announce.Table, v.Announce.Protocol = tt.table, 248
			out := &findings{}
			judgeRouting(out, Facts{Routing: tt.found, Announced: map[string]bool{"api": !tt.nothing}}, v)
			if tt.want == "" {
				assert.Empty(t, out.list)
				return
			}
			if assert.Len(t, out.list, 1) {
				assert.Equal(t, tt.want, out.list[0].Code)
				assert.Contains(t, out.list[0].What, tt.text)
			}
			v.Election = config.ElectionVRRP
			out = &findings{}
			judgeRouting(out, Facts{Routing: tt.found}, v)
			assert.Empty(t, out.list, "of an address that is not routed")
		})
	}
}
