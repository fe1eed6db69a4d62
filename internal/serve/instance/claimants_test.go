package instance

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

// A host that claims the address may be a member's or a listed peer's, as where FRR runs beside keepvip: status says whose.
func TestStatusNamesTheMemberWhoseHostClaimsTheAddress(t *testing.T) {
	nodeC := netip.MustParseAddr("10.77.0.13")
	hosts := map[string]netip.Addr{"mac-b": nodeB, "mac-c": nodeC, "mac-d": netip.MustParseAddr("10.77.0.14")}
	run(t, nil, func(in *Config) {
		in.VIP.VRRP.Peers = []netip.Addr{nodeC}
		in.HostOf = func(_ Place, mac string, ok func(netip.Addr) bool) netip.Addr {
			if a := hosts[mac]; ok(a) {
				return a
			}
			return netip.Addr{}
		}
	}, func(t *testing.T, b *bench) {
		e, s := <-b.electors, <-b.services
		e.set(func(s *election.Status) {
			s.Members = []election.Member{{Address: nodeA, Self: true}, {Address: nodeB}}
		})
		s.set(func(s *fakeService) { s.status.Conflicts = []Conflict{{MAC: "mac-b"}, {MAC: "mac-c"}, {MAC: "mac-d"}} })
		list := b.Status()[0].Conflicts
		require.Len(t, list, 3)
		assert.Equal(t, []netip.Addr{nodeB, nodeC, {}}, []netip.Addr{list[0].Member, list[1].Member, list[2].Member})
		assert.Equal(t, []code.Code{code.MemberClaims, code.MemberClaims, code.DuplicateAddress}, []code.Code{list[0].Code, list[1].Code, list[2].Code})
	})
}
