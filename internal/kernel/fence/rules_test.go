package fence

import (
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/nftables/expr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sets are the names that a rule looks up or updates.
func sets(m match) []string {
	var names []string
	for _, e := range m {
		switch e := e.(type) {
		case *expr.Lookup:
			names = append(names, e.SetName)
		case *expr.Dynset:
			names = append(names, e.SetName)
		}
	}
	return names
}

func lastVerdict(t *testing.T, m match) *expr.Verdict {
	t.Helper()
	v, ok := m[len(m)-1].(*expr.Verdict)
	require.True(t, ok, "a rule ends with a verdict")
	return v
}

// TestFenceDropsOnlyBehindTheGuard: the promise that nobody is ever locked out by a keepvip that is gone, read from the rules themselves.
func TestFenceDropsOnlyBehindTheGuard(t *testing.T) {
	for _, r := range verdicts(7, false, false) {
		assert.Equal(t, guardOf(7), sets(r)[0], "the guard is asked first")
		if lastVerdict(t, r).Kind == expr.VerdictAccept {
			assert.Equal(t, []string{shutSets(7)[inward]}, sets(r)[1:], "who hears nothing may say that a connection has ended")
			continue
		}
		assert.Equal(t, expr.VerdictDrop, lastVerdict(t, r).Kind)
	}
	for _, r := range standbyRules(7) {
		assert.Equal(t, expr.VerdictDrop, lastVerdict(t, r).Kind)
		assert.Equal(t, []string{leaseOf(7), standbyOf(7)}, sets(r))
	}
	all := verdicts(7, false, true)
	orphan := all[len(all)-1]
	assert.Len(t, all, len(verdicts(7, false, false))+1)
	assert.Equal(t, []string{setOrphans}, sets(orphan))
	assert.True(t, slices.ContainsFunc(orphan, func(e expr.Any) bool { _, ok := e.(*expr.Fib); return ok }), "only for an address that is gone")
	for _, r := range append(families{true, true, true}.ingress(), families{true, true, true}.egress()...) {
		if l, ok := r[len(r)-1].(*expr.Lookup); ok {
			assert.True(t, l.IsDestRegSet, "a verdict from a map")
			assert.Contains(t, groupMaps, l.SetName)
			continue
		}
		v := lastVerdict(t, r)
		assert.Equal(t, expr.VerdictJump, v.Kind)
		assert.Equal(t, chainAdverts, v.Chain)
	}
}

func TestFenceLooksOnlyAtFamiliesThatAreThere(t *testing.T) {
	group := func(addr string) map[uint32]Group {
		return map[uint32]Group{1: {Addresses: []netip.Addr{netip.MustParseAddr(addr)}}}
	}
	for name, tt := range map[string]struct {
		groups  map[uint32]Group
		in, out int
	}{
		"none": {nil, 0, 1}, "IPv4": {group("10.0.0.1"), 2, 3}, "IPv6": {group("fd00::1"), 2, 4},
		"a virtual MAC": {map[uint32]Group{1: {MAC: net.HardwareAddr{0, 0, 0x5e, 0, 1, 7}}}, 0, 2},
	} {
		f := familiesOf(tt.groups)
		assert.Len(t, f.ingress(), tt.in, name)
		assert.Len(t, f.egress(), tt.out, name)
	}
}

// TestFenceAsksForSpreadPortsOnlyWhereThereAreSome: without them a group is what it always was.
func TestFenceAsksForSpreadPortsOnlyWhereThereAreSome(t *testing.T) {
	table := linkTable{egress: true, routes: true}
	plain := table.rules(Group{ID: 7})
	assert.Equal(t, verdicts(7, true, true), plain)
	spread := table.rules(Group{ID: 7, Spread: Spread{Ports: []Port{{Protocol: 6, Number: 6443}}}})
	assert.Equal(t, plain, spread[2:], "all else is as without")
	for _, r := range spread[:2] {
		assert.Equal(t, []string{spreadOf(7)}, sets(r))
		assert.Equal(t, expr.VerdictAccept, lastVerdict(t, r).Kind)
	}
}

// TestFenceShutsEachPartOnItsWay: discovery both ways, the rest one way each, and without a lease everything. What passes comes before.
func TestFenceShutsEachPartOnItsWay(t *testing.T) {
	asked, passed := map[string]int{}, map[string]int{}
	for _, r := range verdicts(7, false, false) {
		names := sets(r)
		if lastVerdict(t, r).Kind == expr.VerdictAccept {
			require.Len(t, names, 2)
			passed[names[1]]++
			continue
		}
		require.Len(t, names, 2)
		asked[names[1]]++
	}
	shut := shutSets(7)
	assert.Equal(t, map[string]int{shut[inward]: 1}, passed)
	assert.Equal(t, map[string]int{shut[discovery]: 6, shut[inward]: 1, shut[outward]: 1, leaseOf(7): 2}, asked)
}

func TestFenceRenewalMatchesOneAdvertiser(t *testing.T) {
	g := Group{ID: 7, Advert: Advert{Source: netip.MustParseAddr("10.1.0.5"), VRID: 51}, Lease: 300 * time.Millisecond}
	assert.Nil(t, renewal(Group{ID: 7}), "without an advertisement there is nothing to match")
	for source, want := range map[string][]byte{"10.1.0.5": {10, 1, 0, 5}, "fe80::5": netip.MustParseAddr("fe80::5").AsSlice()} {
		g.Advert.Source = netip.MustParseAddr(source)
		var compared, not [][]byte
		var update *expr.Dynset
		for _, e := range renewal(g) {
			switch e := e.(type) {
			case *expr.Cmp:
				compared = append(compared, e.Data)
				if e.Op == expr.CmpOpNeq {
					not = append(not, e.Data)
				}
			case *expr.Dynset:
				update = e
			case *expr.Verdict:
				assert.Fail(t, "an advertisement is never stopped")
			}
		}
		assert.Contains(t, compared, want, "source")
		assert.Contains(t, compared, []byte{51}, "VRID")
		assert.Equal(t, [][]byte{{0}}, not, "priority 0 invites another node to take over")
		require.NotNil(t, update)
		assert.Equal(t, leaseOf(7), update.SetName)
		assert.Equal(t, g.Lease, update.Timeout)
	}
}

// With hundreds of groups an advertisement passes hundreds of these rules, all but one of them in vain.
func TestFenceRenewalLooksAtTheVRIDFirst(t *testing.T) {
	for _, source := range []string{"10.1.0.5", "fe80::5"} {
		want := advertVRID.is(expr.CmpOpEq, 51)
		r := renewal(Group{ID: 7, Advert: Advert{Source: netip.MustParseAddr(source), VRID: 51}, Lease: 300 * time.Millisecond})
		assert.Equal(t, want, r[:len(want)], source)
	}
}

// By unicast an advertisement may leave long after it was made, when a peer's MAC is known at last.
func TestFenceRenewalOfUnicastMatchesOnlyWhatGoesToItself(t *testing.T) {
	for source, dest := range map[string]field{"10.1.0.5": ip4Dest, "fe80::5": ip6Dest} {
		g := Group{ID: 7, Advert: Advert{Source: netip.MustParseAddr(source), VRID: 51}, Lease: 300 * time.Millisecond}
		want := dest.is(expr.CmpOpEq, g.Advert.Source.AsSlice()...)
		compares := func(m match) bool {
			for i := range m[:len(m)-1] {
				if assert.ObjectsAreEqual(want, m[i:i+2]) {
					return true
				}
			}
			return false
		}
		assert.False(t, compares(renewal(g)), "multicast")
		g.Advert.Unicast = true
		assert.True(t, compares(renewal(g)), source)
	}
}

func TestFenceValidatesGroups(t *testing.T) {
	good := func(id uint32, addrs ...string) Group {
		g := Group{ID: id, Advert: Advert{Source: netip.MustParseAddr("10.0.0.5"), VRID: 51}, Lease: time.Second, Guard: time.Minute}
		for _, a := range addrs {
			g.Addresses = append(g.Addresses, netip.MustParseAddr(a))
		}
		return g
	}
	with := func(edit func(*Group)) Group { g := good(1, "10.0.0.1"); edit(&g); return g }
	tests := []struct {
		name string
		give []Group
		want string
	}{
		{name: "nothing"},
		{name: "two groups", give: []Group{good(1, "10.0.0.1", "fd00::1"), good(2, "10.0.0.2")}},
		{name: "without an advertisement", give: []Group{with(func(g *Group) { g.Advert = Advert{} })}},
		{name: "ID 0", give: []Group{good(0, "10.0.0.1")}, want: "group ID 0, want one of its own, not 0"},
		{name: "ID twice", give: []Group{good(1, "10.0.0.1"), good(1, "10.0.0.2")}, want: "group ID 1, want one of its own, not 0"},
		{name: "address twice", give: []Group{good(1, "10.0.0.1"), good(2, "10.0.0.1")}, want: "group 2: address 10.0.0.1 is in group 1 already"},
		{name: "no addresses", give: []Group{good(1)}, want: "group 1: no addresses"},
		{name: "mapped", give: []Group{good(1, "::ffff:10.0.0.1")}, want: `group 1: address "::ffff:10.0.0.1", want a plain IPv4 or IPv6 address`},
		{name: "no VRID", give: []Group{with(func(g *Group) { g.Advert.VRID = 0 })}, want: "group 1: advertisement of VRID 0 from 10.0.0.5, want both set"},
		{name: "no source", give: []Group{with(func(g *Group) { g.Advert.Source = netip.Addr{} })}, want: "group 1: advertisement of VRID 51 from invalid IP, want both set"},
		{name: "spread ports", give: []Group{with(func(g *Group) { g.Spread.Ports = []Port{{Protocol: 6, Number: 6443}, {Protocol: 17, Number: 53}} })}},
		{name: "spread ICMPv6", give: []Group{with(func(g *Group) { g.Spread.Ports = []Port{{Protocol: 58, Number: 1}} })}, want: "group 1: spread port 1 of protocol 58, want one of TCP or UDP"},
		{name: "spread port 0", give: []Group{with(func(g *Group) { g.Spread.Ports = []Port{{Protocol: 6, Number: 0}} })}, want: "group 1: spread port 0 of protocol 6, want one of TCP or UDP"},
		{name: "no lease", give: []Group{with(func(g *Group) { g.Lease = 0 })}, want: "group 1: lease 0s, want 1ms or more"},
		{name: "guard no longer than the lease", give: []Group{with(func(g *Group) { g.Guard = g.Lease })}, want: "group 1: guard 1s, want more than the lease of 1s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := validate(tt.give)
			if tt.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.EqualError(t, err, tt.want)
		})
	}
}

func TestLinkOfATable(t *testing.T) {
	for name, want := range map[string]int{
		tableName(1): 1, tableName(1 << 30): 1 << 30, "keepvip-": 0, "keepvip-eth0": 0, "keepvip-2x": 0, "keepvip--2": 0,
		"2": 0, "xkeepvip-2": 0, "keepvip": 0,
	} {
		index, ours := linkOf(name)
		assert.Equal(t, want > 0, ours, name)
		if ours {
			assert.Equal(t, want, index)
		}
	}
}
