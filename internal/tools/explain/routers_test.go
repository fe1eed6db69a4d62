package explain

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/internal/tools/routing"
)

// TestRoutersAreExplained: what is wrong has the code that doctor gives it, with its remedy.
func TestRoutersAreExplained(t *testing.T) {
	four, six := netip.MustParseAddr("10.99.0.100"), netip.MustParseAddr("fd99::100")
	bird := func(r routing.Route) []routing.Daemon {
		return []routing.Daemon{{Name: "BIRD", Routes: map[netip.Addr]routing.Route{four: r, six: r}, Down: []string{"uplink: BGP start Active"}}}
	}
	all := routing.Route{Taken: true, Leaves: []string{"uplink"}}
	one := func(name string, four4, six6 routing.Route) routing.Daemon {
		return routing.Daemon{Name: name, Routes: map[netip.Addr]routing.Route{four: four4, six: six6}}
	}
	for name, tt := range map[string]struct {
		found []routing.Daemon
		now   int // routes in the kernel
		want  code.Code
		text  string
	}{
		"told":              {bird(all), 2, "", "BIRD tells uplink of the route to 10.99.0.100; BIRD tells uplink of the route to fd99::100"},
		"it does not serve": {bird(routing.Route{}), 0, "", ""},
		"no daemon":         {nil, 2, code.NoRoutingDaemon, "who tells routers of 10.99.0.100 is not known"},
		"not taken":         {bird(routing.Route{}), 2, code.RouteNotTaken, "of table 198, protocol 248"},
		"no session":        {bird(routing.Route{Taken: true}), 2, code.RouteNotTold, "tells nobody of it: uplink: BGP start Active"},
		"of one family": {
			[]routing.Daemon{one("BIRD", all, routing.Route{})}, 2, code.RouteNotTaken, "BIRD does not have the route to fd99::100 of table 198",
		},
		"of one family, told by nobody": {
			[]routing.Daemon{one("BIRD", routing.Route{Taken: true}, routing.Route{})}, 2, code.RouteNotTaken, "BIRD does not have the route to fd99::100 of table 198",
		},
		"of each family by another daemon": {
			[]routing.Daemon{one("BIRD", all, routing.Route{}), one("FRR", routing.Route{}, all)}, 2, "", "FRR tells uplink of the route to fd99::100",
		},
		"taken by two, and told by one": {
			[]routing.Daemon{one("BIRD", all, all), one("FRR", routing.Route{Taken: true}, routing.Route{Taken: true})}, 2, "", "BIRD tells uplink of the route to fd99::100",
		},
		"of one family told by nobody": {
			[]routing.Daemon{one("BIRD", all, routing.Route{Taken: true})}, 2, code.RouteNotTold, "BIRD has the route to fd99::100, and tells nobody of it",
		},
		"not asked": {[]routing.Daemon{{Name: "FRR", Err: errors.New("permission denied")}}, 2, code.RoutingDaemonSilent, "permission denied"},
	} {
		t.Run(name, func(t *testing.T) {
			s := instance.Status{
				Addresses: []netip.Prefix{netip.PrefixFrom(four, 32), netip.PrefixFrom(six, 128)},
				Route:     &instance.RouteStatus{Table: 198, Protocol: 248, Present: tt.now},
			}
			facts := Routers(&s, tt.found)
			if tt.text == "" {
				assert.Empty(t, facts)
				return
			}
			if assert.Len(t, facts, 1) {
				assert.Equal(t, tt.want, facts[0].Code)
				assert.Contains(t, facts[0].Text, tt.text)
				assert.Equal(t, tt.want != "", facts[0].Remedy != "", facts[0].Remedy)
			}
			s.Route = nil
			assert.Empty(t, Routers(&s, tt.found), "of an address without a route")
		})
	}
}
