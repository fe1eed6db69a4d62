package link

import (
	"net/netip"
	"strings"
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

// TestFenceRulesDropOnlyBehindTheGuard: the promise that nobody is ever locked out by a keepvip that is gone, read from the rules themselves.
func TestFenceRulesDropOnlyBehindTheGuard(t *testing.T) {
	chains := map[string]chain{}
	for _, c := range append(ingress(), egress()...) {
		require.NotContains(t, chains, c.name)
		chains[c.name] = c
	}
	drops := 0
	for _, c := range chains {
		for _, r := range c.rules {
			switch v := lastVerdict(t, r); v.Kind {
			case expr.VerdictDrop:
				drops++
				assert.True(t, strings.HasPrefix(c.name, "held_"), "chain %s drops", c.name)
			case expr.VerdictJump:
				assert.Contains(t, chains, v.Chain, "chain %s jumps nowhere", c.name)
				if strings.HasPrefix(v.Chain, "held_") {
					assert.Contains(t, sets(r), setGuard, "chain %s enters %s without asking the guard", c.name, v.Chain)
				}
			default:
				assert.Fail(t, "unexpected verdict", "%v in %s", v.Kind, c.name)
			}
		}
	}
	assert.Equal(t, 18, drops, "nine kinds of frame, shut or without a lease")
}

// TestFenceRulesAreDefinedBeforeTheyAreUsed: the kernel takes a batch in order, and a jump needs its target.
func TestFenceRulesAreDefinedBeforeTheyAreUsed(t *testing.T) {
	for _, chains := range [][]chain{ingress(), egress()} {
		seen := map[string]bool{}
		for _, c := range chains {
			for _, r := range c.rules {
				if v := lastVerdict(t, r); v.Kind == expr.VerdictJump {
					assert.True(t, seen[v.Chain], "%s before %s", v.Chain, c.name)
				}
			}
			seen[c.name] = true
		}
	}
}

func TestFenceRenewalMatchesOneAdvertiser(t *testing.T) {
	g := Group{ID: 7, Advert: Advert{Source: netip.MustParseAddr("10.1.0.5"), VRID: 51}, Lease: 300 * time.Millisecond}
	assert.Nil(t, renewal(Group{ID: 7}), "without an advertisement there is nothing to match")
	for source, want := range map[string][]byte{"10.1.0.5": {10, 1, 0, 5}, "fe80::5": netip.MustParseAddr("fe80::5").AsSlice()} {
		g.Advert.Source = netip.MustParseAddr(source)
		var compared [][]byte
		var update *expr.Dynset
		var key []byte
		for _, e := range renewal(g) {
			switch e := e.(type) {
			case *expr.Cmp:
				compared = append(compared, e.Data)
			case *expr.Immediate:
				key = e.Data
			case *expr.Dynset:
				update = e
			case *expr.Verdict:
				assert.Fail(t, "an advertisement is never stopped")
			}
		}
		assert.Contains(t, compared, want, "source")
		assert.Contains(t, compared, []byte{51}, "VRID")
		assert.Equal(t, groupKey(7), key)
		require.NotNil(t, update)
		assert.Equal(t, setLease, update.SetName)
		assert.Equal(t, g.Lease, update.Timeout)
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

func TestOurTable(t *testing.T) {
	for name, want := range map[string]bool{
		tableName(1): true, tableName(1 << 30): true, "keepvip-": false, "keepvip-eth0": false, "keepvip-2x": false, "keepvip--2": false,
		"2": false, "xkeepvip-2": false, "keepvip": false,
	} {
		assert.Equal(t, want, ourTable(name), name)
	}
}
