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

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// spreadStops is a group whose load is spread, and what an operator does to its nodes.
type spreadStops struct {
	t *testing.T
	*trial.Spreading
}

// verb runs a command of keepvip on a node, and returns its exit status.
func (s spreadStops) verb(n *lab.Node, args ...string) int {
	s.t.Helper()
	code, _ := s.said(n, args...)
	return code
}

// said is the exit code of a command, and what it says.
func (s spreadStops) said(n *lab.Node, args ...string) (code int, text string) {
	s.t.Helper()
	p, code := mustTwo(trial.Keepvip{}.Command(n, append(args, "--socket", trial.Socket(n))...))(s.t)
	s.t.Logf("%v on %s: %d: %s", args, n.Label, code, p.Log())
	return code, p.Log()
}

// resumed has a drained node take part again, and waits until it serves.
func (s spreadStops) resumed(n *lab.Node) {
	s.t.Helper()
	require.Zero(s.t, s.verb(n, "resume"))
	require.NoError(s.t, s.Ready())
}

// stopped ends keepvip on a node, and returns the nftables tables that are left there.
func (s spreadStops) stopped(n *lab.Node) string {
	s.t.Helper()
	require.Zero(s.t, must(s.Daemon(n).Terminate(10*time.Second))(s.t))
	return s.tables(n)
}

func (s spreadStops) tables(n *lab.Node) string {
	s.t.Helper()
	return string(must(n.Run("nft", "list", "tables"))(s.t))
}

// TestSpreadNodesThatStop: a drain waits for a node's connections wherever the address is, and resets none of them. A node that stops with
// connections leaves what translates them, and one without leaves nothing.
func TestSpreadNodesThatStop(t *testing.T) {
	t.Parallel()
	s := spreadStops{t, openSpread(t, trial.SpreadConfig{V4: true})}
	both, third := s.Lab.Nodes[:2], s.Lab.Nodes[2]
	require.NoError(t, s.Hold(30))
	for _, n := range both { // one of them at least is not the holder
		assert.Equal(t, 4, s.verb(n, "drain", "--wait", "--timeout", "500ms"), "%s has connections", n.Label)
		s.resumed(n)
	}
	left := s.stopped(third)
	assert.Contains(t, left, "table ip keepvip-spread-apiserver", "its connections go on")
	assert.NotContains(t, left, "table arp", "the fence is gone")
	assert.Zero(t, s.verb(third, "cleanup"))
	assert.NotContains(t, s.tables(third), "keepvip")
	for _, r := range s.Release() {
		noneLost(t, r.Of(both...))
	}
	drained := func(n *lab.Node) {
		const noTaker = 3
		code := noTaker
		eventually(t, trial.SettleLimit, "another node can take the address from "+n.Label, func() bool {
			var text string
			code, text = s.said(n, "drain", "--wait", "--timeout", "30s")
			return code != noTaker && !strings.Contains(text, election.ErrTimeout.Error())
		})
		assert.Zero(t, code, "%s has no connection any more", n.Label)
	}
	for _, n := range both {
		drained(n)
		s.resumed(n)
	}
	for _, n := range both { // the last ACK of a connection by which resumed saw that they serve may still be missing
		drained(n)
		require.Zero(t, s.verb(n, "resume"))
		must(s.SettleAny())(t)
	}
	for _, n := range both {
		assert.NotContains(t, s.stopped(n), "keepvip", "%s", n.Label)
	}
}

// TestSpreadDrainWaitsForTheProgramsOfOtherMembers: what these connect to goes straight to the drained node, which cannot tell it from what others ask it.
func TestSpreadDrainWaitsForTheProgramsOfOtherMembers(t *testing.T) {
	t.Parallel()
	// The other one never holds the address: what programs of a holder connect to it has the address at both ends, and ends when it moves.
	s := spreadStops{t, openSpread(t, trial.SpreadConfig{V4: true, Product: trial.WithSpread{Candidates: 2}})}
	drained, other := s.Lab.Nodes[0], s.Lab.Nodes[2]
	held := must(s.Lab.Hold(other.Namespace, lab.HeldConfig{Target: s.Targets()[0], Count: 30}))(t)
	assert.Equal(t, 4, s.verb(drained, "drain", "--wait", "--timeout", "4s"), "it has connections")
	noneLost(t, held.Stop())
	assert.Zero(t, s.verb(drained, "drain", "--wait", "--timeout", "30s"), "the last has ended")
	s.resumed(drained)
}

func openSpread(t *testing.T, cfg trial.SpreadConfig) *trial.Spreading {
	t.Helper()
	if cfg.Interval == 0 {
		cfg.Interval = calmInterval
	}
	s := must(trial.OpenSpread(host, cfg))(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.Tables())
		}
		finish(t, s.Group)
	})
	return s
}

// keeps has something happen to connections, and asserts that none of those that can be kept is lost, and that clients of a dead server are
// told.
func keeps(t *testing.T, s *trial.Spreading, e trial.SpreadEvent, count int) trial.Kept {
	t.Helper()
	k, err := s.Keep(e, count)
	require.NoError(t, err, e.Name)
	t.Logf("%s: %s", e.Name, k.Findings(e))
	ends := e.Ends || (e.Own || k.Disguised > 0) && k.Silences > 0 // what a holder translates ends where it ceases to advertise
	if !ends {
		assert.Zero(t, k.Lost, "%s: %s", e.Name, k.How)
	}
	assert.Zero(t, k.Silent, "%s: clients of the dead are told", e.Name)
	return k
}

// noneLost asserts that all connections were answered to the end.
func noneLost(t *testing.T, r lab.HeldReport) {
	t.Helper()
	assert.Zero(t, r.Lost(), "connections of %s: %s", r.Client, r.Failures())
}

// sharing is for how long is looked whether connections are shared: a member that did not run for a moment gets none meanwhile.
const sharing = 20 * time.Second

// shares asserts that new connections of a client come to be served by so many members, each of which has its share, in per cent of which it may
// be off.
func shares(t *testing.T, s *trial.Spreading, from *lab.Namespace, count, members int, limit float64) (all []trial.Shared) {
	t.Helper()
	for _, target := range s.Targets() {
		var got trial.Shared
		var over []string
		for end := time.Now().Add(sharing); time.Now().Before(end); settleFor(time.Second) {
			got = must(s.Share(from, target, count))(t)
			found := got.Findings(members, limit)
			t.Logf("%s: %s", from.Name, found)
			if over = found.Over(1); len(over) == 0 {
				break
			}
		}
		assert.Empty(t, over, from.Name)
		all = append(all, got)
	}
	return all
}

// endedWith asserts that connections to a node that died at that time were ended soon, and no others.
func endedWith(t *testing.T, r lab.HeldReport, dead *lab.Node, at time.Duration) {
	t.Helper()
	died := r.Of(dead)
	require.NotEmpty(t, died.Conns)
	assert.Zero(t, r.Without(dead).Lost(), "%s", r.Without(dead).Failures())
	for _, c := range died.Conns {
		require.NotZero(t, c.Lost)
		assert.NotEqual(t, lab.NoAnswer, c.How, "a connection to the dead node was ended")
	}
	t.Logf("%d connections to the dead node ended %v after its death: %s", len(died.Conns), died.Conns[0].Lost-at, died.Conns[0].How)
}

// unreached are the members that a node names as not reached.
func unreached(t *testing.T, n *lab.Node) (out []netip.Addr) {
	t.Helper()
	var status struct {
		VIPs []struct {
			Spread struct {
				Tables []struct {
					Shares []struct {
						Address netip.Addr `json:"address"`
						Code    string     `json:"code"`
					} `json:"shares"`
				} `json:"tables"`
			} `json:"spread"`
		} `json:"vips"`
	}
	require.NoError(t, trial.AskStatus(n, &status))
	for _, share := range status.VIPs[0].Spread.Tables[0].Shares {
		if share.Code == "KV360" {
			out = append(out, share.Address)
		}
	}
	return out
}

// A member whose host gets no packet of a connection, or whose own firewall drops the port, gets no new connections as soon as it is named: by its own
// word it is fit.
func TestSpreadMemberThatPacketsDoNotReach(t *testing.T) {
	t.Parallel()
	for _, masquerade := range []bool{false, true} {
		t.Run(fmt.Sprintf("masquerade %v", masquerade), func(t *testing.T) {
			t.Parallel()
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
}

// The holder's own firewall drops the port at which it takes its share: by its own word, and by its own tables, it is fit. The members say that they do not
// reach it, and a node that they do reach takes over, and sends it no connections.
func TestSpreadHolderWhoseServiceIsNotReachedGivesTheAddressAway(t *testing.T) {
	t.Parallel()
	for _, masquerade := range []bool{false, true} {
		t.Run(fmt.Sprintf("masquerade %v", masquerade), func(t *testing.T) {
			t.Parallel()
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
}

// A service that has ended on one member takes nothing from that member's other ports, and no connection to its own port fails.
func TestSpreadPortThatFailsOnOneMember(t *testing.T) {
	t.Parallel()
	for _, masquerade := range []bool{false, true} {
		t.Run(fmt.Sprintf("masquerade %v", masquerade), func(t *testing.T) {
			t.Parallel()
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
}

// manyConnections take a kernel longer than a release waits for their resets.
const manyConnections = 14000

// TestEveryIdleClientIsTold holds connections on which nobody says anything, as most watches of a large cluster: such a client learns of the end
// by a reset alone. Whoever was not told a second or two after the fault is not told at all.
func TestEveryIdleClientIsTold(t *testing.T) {
	faults := trial.ConnectionFaults()
	for vip, names := range map[netip.Addr][]string{ // the bench has all of them with both
		lab.VIP4: {"handover", "the apiserver dies", "SIGSTOP for longer than the address lives"},
		lab.VIP6: {"SIGTERM", "kill -9, the address gone"},
	} {
		t.Run(vip.String(), func(t *testing.T) {
			t.Parallel()
			g := started(t, trial.Config{Addresses: []netip.Addr{vip}, API: true})
			for _, name := range names {
				t.Run(name, func(t *testing.T) {
					require.Contains(t, faults, name)
					c := must(trial.WithConnections(g, manyConnections, 0, faults[name]))(t)
					t.Logf("%d of %d told, the last after %v; outage %v, processor %v", c.Ends.Told(), len(c.Ends), c.After, c.Outage, c.CPU)
					assert.Equal(t, manyConnections, c.Ends.Told())
					for _, n := range g.Lab.Nodes {
						assert.NotContains(t, g.Daemon(n).Log(), "code=KV341", "the node that tells its clients blames the holder for nothing")
					}
					assert.Zero(t, c.Finders, "two nodes answer ARP or neighbour discovery")
				})
			}
		})
	}
}
