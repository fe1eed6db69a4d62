package trial

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// everywhereSaid is a move of which all nodes say the same.
func everywhereSaid(name string, s Said, happen, mend func(g *Group, n *lab.Node) error) Cause {
	other := s
	other.Same = true
	return Cause{Name: name, Happen: happen, Mend: mend, Before: s, After: s, Other: other}
}

func asking(args ...string) func(*Group, *lab.Node) error {
	return func(_ *Group, n *lab.Node) error { return Keepvip{}.order(n, args...) }
}

func apiBecomes(mode lab.APIMode) func(*Group, *lab.Node) error {
	return func(_ *Group, n *lab.Node) error { return n.API().Set(mode, "") }
}

// Causes are those that follow each other in one lab, and then those that need one of their own.
func Causes() []Cause {
	silent := Said{Code: "KV103", Cause: `silent for [0-9]+ ms`}
	quiet := silent
	quiet.Same = true
	return append([]Cause{
		everywhereSaid("handover", Said{Code: "KV109", Cause: "uid 0 asked for a handover", AskedBy: "uid 0"}, asking("handover"), nil),
		everywhereSaid("hold", Said{Code: "KV220", Cause: "held by an operator: new kernel", AskedBy: "uid 0"}, asking("hold", "--reason", "new kernel"), asking("resume")),
		everywhereSaid("drain", Said{Code: "KV221", Cause: "drained by an operator", AskedBy: "uid 0"}, asking("drain"), asking("resume")),
		everywhereSaid("stopped", Said{Code: "KV104", Cause: "stopping"}, func(g *Group, n *lab.Node) error {
			_, err := g.Daemon(n).Terminate(10 * time.Second)
			return err
		}, func(g *Group, n *lab.Node) error { return g.Start(n) }),
		{
			Name: "link down", Before: Said{Code: "KV401"}, After: silent, Other: quiet,
			Happen: func(_ *Group, n *lab.Node) error { return n.LinkDown() },
			Mend:   func(_ *Group, n *lab.Node) error { return n.LinkUp() },
		},
		{
			Name: "dead", After: silent, Other: quiet,
			Happen: func(_ *Group, n *lab.Node) error { _, err := n.PowerOff(); return err },
			Mend:   (*Group).reboot,
		},
		// Two of three remain unhealthy.
		everywhereSaid("apiserver refused", Said{Code: "KV201", Cause: "the health check fails: connection refused"}, apiBecomes(lab.APIRefuse), nil),
		everywhereSaid("apiserver 500", Said{Code: "KV202", Cause: "the health check fails: 500"}, apiBecomes(lab.API500), nil),
	}, causesAlone()...)
}

func causesAlone() []Cause {
	hangs := everywhereSaid("apiserver hangs", Said{Code: "KV203", Cause: "the health check fails: timeout after .*"}, apiBecomes(lab.APIHang), nil)
	hangs.Alone = &CauseLab{API: true}
	return []Cause{
		hangs,
		{
			Name: "the fence is taken away", Alone: &CauseLab{Unowned: true}, Stays: true, Before: Said{Status: `"code":"KV405"`},
			Happen: func(_ *Group, n *lab.Node) error {
				table, err := fenceTable(n)
				if err == nil {
					_, err = n.Run("nft", "delete", "table", "netdev", table)
				}
				return err
			},
		},
		{
			Name: "higher priority", Alone: &CauseLab{Priorities: []int{100, 100, 100}},
			Happen: func(g *Group, n *lab.Node) error {
				next := g.Lab.Nodes[n.ID%3]
				if _, err := g.Daemon(next).Terminate(10 * time.Second); err != nil {
					return err
				}
				g.Settings[next.ID-1].Priority = 150
				return g.Start(next)
			},
			Before: Said{Code: "KV106"}, After: Said{Code: "KV106"}, Other: Said{Code: "KV106", Same: true},
		},
		{
			Name: "wrong key", Stays: true, Alone: &CauseLab{Args: keyOf("0123456789abcdef")},
			Happen: func(g *Group, n *lab.Node) error {
				next := g.Lab.Nodes[n.ID%3]
				if _, err := g.Daemon(next).Terminate(10 * time.Second); err != nil {
					return err
				}
				p, err := NamedNodes{Args: keyOf("fedcba9876543210")(g.Lab, next)}.Start(next, g.Settings[next.ID-1])
				g.Daemons[next.ID-1] = p
				return err
			},
			Before: Said{Status: `"code":"KV310"`}, After: Said{Status: `"code":"KV310"`}, Other: Said{Status: `"code":"KV310"`},
		},
		{
			Name: "duplicate address", Alone: &CauseLab{Args: func(_ *lab.Lab, n *lab.Node) []string {
				if n.ID == 1 {
					return []string{"--on-conflict", "yield"}
				}
				return nil
			}, Priorities: []int{150, 100, 100}},
			Happen: func(g *Group, _ *lab.Node) error {
				foreign := g.Lab.Client
				return errors.Join(foreign.Take(g.Addresses[0]), foreign.Announce(g.Addresses[0]))
			},
			Before: Said{Code: "KV301", Cause: "yielded: .* is claimed by .*"}, After: Said{Code: "KV301", Cause: "yielded: .* is claimed by .*"},
			Other: Said{Code: "KV301", Cause: "yielded: .* is claimed by .*", Same: true},
		},
		{
			Name: "another VRID", Stays: true, Alone: &CauseLab{},
			Happen: func(g *Group, n *lab.Node) (err error) {
				defer try.Catch(&err)
				for _, o := range g.Lab.Nodes {
					if o == n {
						continue
					}
					try.Get(g.Daemon(o).Terminate(10 * time.Second))
					g.Daemons[o.ID-1] = try.Get(NamedNodes{Args: ownVRID(g.Lab, o)}.Start(o, g.Settings[o.ID-1]))
				}
				return nil
			},
			After: Said{Status: `"code":"KV302"`}, Other: Said{Status: `"code":"KV302"`},
		},
		{
			Name: "advertisements do not leave", Stays: true, Alone: &CauseLab{},
			Happen: func(_ *Group, n *lab.Node) error {
				_, err := n.Run("nft", "table netdev spoiler { chain out { type filter hook egress device "+n.NICs[0].Name+
					" priority -300; ip protocol 112 drop; }; }")
				return err
			},
			Before: Said{Status: `"code":"KV407"`}, After: Said{Status: `"code":"KV302"`}, Other: Said{Status: `"code":"KV302"`},
		},
	}
}

// keyOf gives every node that key.
func keyOf(half string) func(*lab.Lab, *lab.Node) []string {
	return func(_ *lab.Lab, n *lab.Node) []string {
		path, err := n.WriteFile("key", strings.Repeat(half, 4)+"\n", 0o600)
		if err != nil {
			path = "/nonexistent" // keepvip says so
		}
		return []string{"--key-file", path}
	}
}

func ownVRID(_ *lab.Lab, n *lab.Node) []string { return []string{"--vrid", fmt.Sprint(60 + n.ID)} }
