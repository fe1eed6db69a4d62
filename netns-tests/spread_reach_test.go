//go:build netns

package netnstests

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/node/daemon"
	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// unreached are the members that a node names as not reached.
func unreached(t *testing.T, n *lab.Node) (out []netip.Addr) {
	t.Helper()
	var s daemon.Status
	require.NoError(t, trial.AskStatus(n, &s))
	for _, share := range s.VIPs[0].Spread.Tables[0].Shares {
		if share.Code == code.NotReached {
			out = append(out, share.Address)
		}
	}
	return out
}

// A member whose host gets no packet of a connection, or whose own firewall drops the port, gets no new connections as soon as it is named: by its own
// word it is fit.
func TestSpreadMemberThatPacketsDoNotReach(t *testing.T) {
	eachWay(t, func(t *testing.T, masquerade bool) {
		// One that is the holder cannot be left out, so the victim never is: not even when the others stand still.
		s := openSpread(t, trial.SpreadConfig{V4: true, Product: trial.WithSpread{Masquerade: masquerade, Candidates: 2}})
		holder, victim := settled(t, s.Group), s.Lab.Nodes[2]
		firewall := fmt.Sprintf("table inet firewall { chain in { type filter hook input priority 0; iifname != lo tcp dport %d drop; }; }", trial.SpreadTarget)
		for _, fault := range []struct {
			name       string
			begin, end func() error
		}{
			{"deaf", func() error { return victim.Lose("ip protocol tcp", 100, lab.In) }, victim.LoseNothing},
			{"firewall", func() error { _, err := victim.RunInput(firewall, "nft", "-f", "-"); return err }, func() error {
				return try.Err(victim.Run("nft", "delete", "table", "inet", "firewall"))
			}},
		} {
			what := fault.name
			require.NoError(t, fault.begin())
			began := time.Now()
			settleFor(time.Second)
			early := must(s.Lab.Sample(s.Lab.Client.Namespace, s.Targets()[0], 60))(t)
			t.Logf("%s: a second after the fault %d of 60 failed", what, 60-early.Served()) // on an idle machine none
			named := func() bool { return len(unreached(t, holder)) == 1 }
			require.True(t, eventually(t, 10*time.Second, what+" is named", named), s.Logs())
			t.Logf("%s: seen to be named after %v", what, time.Since(began).Round(time.Millisecond))
			assert.Equal(t, []netip.Addr{victim.Address}, unreached(t, holder))
			for range 3 {
				got := must(s.Lab.Sample(s.Lab.Client.Namespace, s.Targets()[0], 60))(t)
				t.Logf("%s: %s", what, got)
				assert.Empty(t, got.Failures, what)
				assert.NotContains(t, got.ByNode, victim.Label, what)
			}
			require.NoError(t, fault.end())
			require.NoError(t, s.Ready(), "it serves again")
		}
		assert.True(t, strings.Contains(s.Logs(), "KV360"))
	})
}

// The holder's own firewall drops the port at which it takes its share: by its own word, and by its own tables, it is fit. The members say that they do not
// reach it, and a node that they do reach takes over, and sends it no connections.
func TestSpreadHolderWhoseServiceIsNotReachedGivesTheAddressAway(t *testing.T) {
	eachWay(t, func(t *testing.T, masquerade bool) {
		s := openSpread(t, trial.SpreadConfig{V4: true, Interval: time.Second, Product: trial.WithSpread{Masquerade: masquerade}})
		victim := blockHolder(t, s.Group, fmt.Sprintf("tcp dport %d", trial.SpreadTarget), func(holder *lab.Node) bool {
			return strings.Contains(s.Daemon(holder).Log(), "members cannot connect to the address here")
		})
		served := func() bool {
			h := s.Holders()
			got, err := s.Lab.Sample(s.Lab.Client.Namespace, s.Targets()[0], 60)
			return len(h) == 1 && h[0] != victim && err == nil && len(got.Failures) == 0 && got.ByNode[victim.Label] == 0 && len(got.ByNode) == 2
		}
		require.True(t, eventually(t, 20*time.Second, "the others serve all clients", served), s.Tables())
	})
}

// A service that has ended on one member takes nothing from that member's other ports, and no connection to its own port fails.
func TestSpreadPortThatFailsOnOneMember(t *testing.T) {
	eachWay(t, func(t *testing.T, masquerade bool) {
		s := openSpread(t, trial.SpreadConfig{V4: true, Product: trial.WithSpread{Masquerade: masquerade}})
		second := map[*lab.Node]*lab.Greeter{}
		for _, n := range s.Lab.Nodes {
			second[n] = must(n.StartGreeter(lab.GreeterConfig{Port: trial.SpreadTarget + 1}))(t)
		}
		target := netip.AddrPortFrom(lab.VIP4, trial.DownloadPort)
		by := func(want int) func() bool {
			return func() bool {
				got, err := s.Lab.Sample(s.Lab.Client.Namespace, target, 60)
				return err == nil && len(got.Failures) == 0 && len(got.ByNode) == want
			}
		}
		require.True(t, eventually(t, 10*time.Second, "all serve the second port", by(3)), s.Tables())
		holder := settled(t, s.Group)
		victim := s.Lab.Nodes[holder.ID%3]
		second[victim].Close()
		require.True(t, eventually(t, 10*time.Second, "the others serve the second port", by(2)), s.Tables())
		for range 3 {
			got := must(s.Lab.Sample(s.Lab.Client.Namespace, target, 60))(t)
			t.Logf("%s", got)
			assert.Empty(t, got.Failures)
			assert.NotContains(t, got.ByNode, victim.Label)
		}
		require.NoError(t, s.ServedBy(s.Lab.Nodes...), "the first port is served by all")
	})
}
