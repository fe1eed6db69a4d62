//go:build netns

package netnstests

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/node/daemon"
	"github.com/keepvip/keepvip/internal/node/history"
	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// said is what a node has to say: its history and its log of a move, and its status and `keepvip explain` of both. The zero value is not asked.
type said struct {
	code    code.Code
	cause   string // a regular expression; with it the history names the holder before
	askedBy string
	stays   bool // the address has not moved
	other   bool // the state of this node has not changed, so that its status tells an older reason
}

// cause is one of the ways in which an address moves, or does not where it should.
type cause struct {
	name                 string
	happen, repair       func(g *trial.Group, n *lab.Node) error // to the holder
	before, after, third said                                    // by the holder before, the one after, and the other
}

// alike is a move of which all say the same.
func alike(name string, s said, happen, repair func(*trial.Group, *lab.Node) error) cause {
	other := s
	other.other = true
	return cause{name, happen, repair, s, s, other}
}

func asking(args ...string) func(*trial.Group, *lab.Node) error {
	return func(_ *trial.Group, n *lab.Node) error { _, err := trial.Keepvip{}.Ask(n, args...); return err }
}

func apiBecomes(mode lab.APIMode) func(*trial.Group, *lab.Node) error {
	return func(_ *trial.Group, n *lab.Node) error { return n.API().Set(mode, "") }
}

// terminated ends a daemon.
func terminated(g *trial.Group, n *lab.Node) error {
	return try.Err(g.Daemon(n).Terminate(10 * time.Second))
}

// again ends a daemon, and starts it with another setting or another argument.
func again(g *trial.Group, n *lab.Node, priority int, args ...string) (err error) {
	if err = terminated(g, n); err == nil {
		g.Settings[n.ID-1].Priority = priority
		g.Daemons[n.ID-1], err = trial.Keepvip{Args: args}.Start(n, g.Settings[n.ID-1])
	}
	return err
}

// Each node gives the same code for why the address moved: the holder before, the one after, and the third.
func TestEveryNodeNamesTheCauseOfAMove(t *testing.T) {
	t.Parallel()
	g, holder := openHeld(t, trial.Config{API: true})
	if !regexp.MustCompile("code=KV(103|408)").MatchString(g.Logs()) { // else the first holder stood still, and the address has moved since
		for _, n := range g.Lab.Nodes {
			assert.Contains(t, g.Daemon(n).Log(), map[bool]string{true: "code=KV102", false: "code=KV108"}[n == holder], "the start, on %s", n.Label)
		}
	}
	start := func(g *trial.Group, n *lab.Node) error { return g.Start(n) }
	silent := said{code: code.HolderSilent, cause: `silent for [0-9]+ ms`}
	quiet := silent
	quiet.other = true
	for _, c := range []cause{
		alike("handover", said{code: code.Handover, cause: "uid 0 asked for a handover", askedBy: "uid 0"}, asking("handover"), nil),
		alike("hold", said{code: code.Held, cause: "held by an operator: new kernel", askedBy: "uid 0"}, asking("hold", "--reason", "new kernel"), asking("resume")),
		alike("drain", said{code: code.Drained, cause: "drained by an operator", askedBy: "uid 0"}, asking("drain"), asking("resume")),
		alike("stopped", said{code: code.Stopping, cause: "stopping"}, terminated, start),
		{
			"link down", func(_ *trial.Group, n *lab.Node) error { return n.LinkDown() }, func(_ *trial.Group, n *lab.Node) error { return n.LinkUp() },
			said{code: code.LinkDown},
			silent, quiet,
		},
		{
			"dead", func(_ *trial.Group, n *lab.Node) error { _, err := n.PowerOff(); return err },
			func(g *trial.Group, n *lab.Node) error {
				on := n.PowerOn()
				_, api := n.StartAPIServer()
				return errors.Join(on, api, g.Start(n))
			},
			said{},
			silent, quiet,
		},
		// Two of three remain unhealthy.
		alike("apiserver refused", said{code: code.CheckRefused, cause: "the health check fails: connection refused"}, apiBecomes(lab.APIRefuse), nil),
		alike("apiserver 500", said{code: code.CheckStatus, cause: "the health check fails: 500"}, apiBecomes(lab.API500), nil),
	} {
		namesCause(t, g, c)
	}
}

// What cannot follow something else has a lab of its own.
func TestEveryNodeNamesTheCauseOfAMoveBySettings(t *testing.T) {
	t.Parallel()
	key := func(t *testing.T, half string) string {
		return given(t, "key", strings.Repeat(half, 4)+"\n")
	}
	first, second := key(t, "0123456789abcdef"), key(t, "fedcba9876543210")
	yielded := said{code: code.DuplicateAddress, cause: "yielded: .* is claimed by .*"}
	split, higher := said{code: code.Split, stays: true}, said{code: code.HigherPriority}
	wrong := said{code: code.WrongKey, stays: true}
	for _, c := range []struct {
		cause
		cfg trial.Config
	}{
		{
			alike("apiserver hangs", said{code: code.CheckTimeout, cause: "the health check fails: timeout after .*"}, apiBecomes(lab.APIHang), nil),
			trial.Config{API: true},
		},
		{
			cause{name: "the fence is taken away", before: said{code: code.FenceLost, stays: true}, happen: func(_ *trial.Group, n *lab.Node) error {
				return try.Err(n.Run("sh", "-c", "nft delete table netdev $(nft list tables netdev | grep -o 'keepvip-.*')"))
			}},
			trial.Config{Product: trial.Keepvip{Path: must(trial.Unowned())(t)}},
		},
		{
			alike("higher priority", higher, func(g *trial.Group, n *lab.Node) error { return again(g, g.Lab.Nodes[n.ID%3], 150) }, nil),
			trial.Config{},
		},
		{
			cause{name: "wrong key", before: wrong, after: wrong, third: wrong, happen: func(g *trial.Group, n *lab.Node) error {
				return again(g, g.Lab.Nodes[n.ID%3], 100, "--key-file", second)
			}},
			trial.Config{Product: trial.Keepvip{Args: []string{"--key-file", first}}},
		},
		{
			alike("duplicate address", yielded, func(g *trial.Group, _ *lab.Node) error {
				return errors.Join(g.Lab.Client.Take(lab.VIP4), g.Lab.Client.Announce(lab.VIP4))
			}, nil),
			trial.Config{Product: yieldsFirst{}, Priorities: []int{150, 100, 100}},
		},
		{
			cause{name: "another VRID", after: split, third: split, happen: func(g *trial.Group, n *lab.Node) error {
				var errs []error
				for _, o := range g.Others(n) {
					errs = append(errs, again(g, o, 100, "--vrid", fmt.Sprint(60+o.ID)))
				}
				return errors.Join(errs...)
			}},
			trial.Config{},
		},
		{
			cause{name: "advertisements do not leave", before: said{code: code.NotSent, stays: true}, after: split, third: split, happen: func(_ *trial.Group, n *lab.Node) error {
				return try.Err(n.Run("nft", "table netdev spoiler { chain out { type filter hook egress device eth0 priority -300; ip protocol 112 drop; }; }"))
			}},
			trial.Config{},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			namesCause(t, open(t, c.cfg), c.cause)
		})
	}
}

// yieldsFirst is keepvip whose first node yields to whoever claims the address.
type yieldsFirst struct{ trial.Keepvip }

func (y yieldsFirst) Start(n *lab.Node, s trial.Settings) (*lab.Process, error) {
	if n.ID == 1 {
		y.Args = []string{"--on-conflict", "yield"}
	}
	return y.Keepvip.Start(n, s)
}

func namesCause(t *testing.T, g *trial.Group, c cause) {
	t.Helper()
	var before *lab.Node
	// A node that has just started and has heard nobody yet cannot tell whom the address moves from.
	eventually(t, trial.SettleLimit, c.name+": every node names the holder", func() bool {
		before = settled(t, g)
		names := func(v trial.VIPStatus) bool { return v.Holder == before.Address.String() }
		return !slices.ContainsFunc(g.Lab.Nodes, func(n *lab.Node) bool { return !shows(n, names)() })
	})
	wire := must(g.Lab.Measure(lab.MeasureConfig{NoDirect: true}))(t)
	eventually(t, trial.SettleLimit, c.name+": the holder advertises", func() bool { return wire.Advertiser() != 0 })
	at, since := g.Lab.Now(), time.Now()
	if err := c.happen(g, before); err != nil {
		r := wire.Stop()
		require.False(t, r.Leads(before.ID, at) && r.Silences(0) == 0, "%s: %v", c.name, err)
		namesCause(t, g, c) // it had lost the address, and has refused
		return
	}
	after := g.Lab.Nodes[before.ID%3]
	if !c.after.stays && c.after.code != "" {
		eventually(t, 10*time.Second, c.name+": another node has the address", func() bool {
			i := slices.IndexFunc(g.Lab.Nodes, func(n *lab.Node) bool { return n != before && n.Holds(lab.VIP4) })
			after = g.Lab.Nodes[max(i, 0)]
			return i >= 0
		})
	}
	third := g.Lab.Nodes[slices.IndexFunc(g.Lab.Nodes, func(n *lab.Node) bool { return n != before && n != after })]
	var unsaid []string
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); settleFor(200 * time.Millisecond) {
		unsaid = slices.Concat(c.before.unsaid(t, g, before, before, since), c.after.unsaid(t, g, after, before, since), c.third.unsaid(t, g, third, before, since))
		if len(unsaid) == 0 {
			break
		}
	}
	silent := 0
	if c.after.code == code.HolderSilent {
		silent = 1
	}
	if r := wire.Stop(); r.BySilence(0) <= silent && r.Leads(before.ID, at) { // else the newest move is another one
		assert.Empty(t, unsaid, c.name)
	}
	if c.repair != nil {
		require.NoError(t, c.repair(g, before))
	}
}

// unsaid is what a node does not say of that.
func (s said) unsaid(t *testing.T, g *trial.Group, n, before *lab.Node, since time.Time) (miss []string) {
	t.Helper()
	if s.code == "" {
		return nil
	}
	newest := s.code
	if !s.stays {
		doc, _ := historyOf(t, n)
		i := slices.IndexFunc(doc.Transitions, func(r history.Record) bool {
			named := s.cause == "" || r.OldHolder.Address == before.Address && regexp.MustCompile("^[^ ]*: "+s.cause+"$").MatchString(r.Cause)
			return r.At.After(since) && r.Code == s.code && named && strings.HasPrefix(r.AskedBy, s.askedBy) && (r.AskedBy == "") == (s.askedBy == "")
		})
		if i < 0 {
			miss = append(miss, fmt.Sprintf("%s: the history has no %+v: %+v", n.Label, s, doc.Transitions))
		} else if last := slices.MaxFunc(doc.Transitions, func(a, b history.Record) int { return a.At.Compare(b.At) }); last.At.After(doc.Transitions[i].At) {
			newest = last.Code // of two that took the address in one moment, one has yielded since
		}
		if log := g.Daemon(n).Log(); !regexp.MustCompile(`msg="(state|holder) changed".* code=` + string(s.code)).MatchString(log) {
			miss = append(miss, fmt.Sprintf("%s: the log has no %s: %s", n.Label, s.code, log))
		}
	}
	for _, command := range []string{"status", "explain"} {
		if !g.Daemon(n).Alive() || s.other && command == "status" {
			continue
		}
		if text := strings.Join(strings.Fields(printed(t, n, command, "-o", "json")), ""); !strings.Contains(text, `"code":"`+string(newest)+`"`) {
			miss = append(miss, fmt.Sprintf("%s: %s does not say %s: %s", n.Label, command, newest, text))
		}
	}
	return miss
}

// historyOf is what a node remembers, whether its keepvip runs or not.
func historyOf(t *testing.T, n *lab.Node) (doc daemon.History, newest history.Record) {
	t.Helper()
	p, exit := mustTwo(trial.Keepvip{}.Command(n, "history", "-o", "json", "--socket", trial.Socket(n), "--state-dir", n.Path("state")))(t)
	require.Zero(t, exit, p.Stderr())
	require.NoError(t, json.Unmarshal([]byte(p.Stdout()), &doc))
	require.NotEmpty(t, doc.Transitions)
	return doc, doc.Transitions[len(doc.Transitions)-1]
}
