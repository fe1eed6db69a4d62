package trial

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// Unowned is the program under test as it is on a kernel before 6.9, where nobody can own a table of nftables: others
// can delete it. It is built once.
var Unowned = sync.OnceValues(func() (_ string, err error) {
	defer try.Catch(&err)
	root := try.Get(Root())
	path := filepath.Join(root, "bin", "keepvip-unowned")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X github.com/keepvip/keepvip/internal/kernel/nfttables.older=yes", "-o", path, "./cmd/keepvip")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("trial: build %s: %w: %s", path, err, out)
	}
	return path, nil
})

// Flush empties the rule set of a node, as a firewall does that starts.
func Flush(n *lab.Node) error { return try.Err(n.Run("nft", "flush", "ruleset")) }

// flushed empties the rule set of a node, and waits until it has its fence, if its daemon has to make that anew.
func flushed(n *lab.Node) (err error) {
	defer try.Catch(&err)
	try.Do(Flush(n))
	return within(10*time.Second, "the fence is there again", func() bool {
		tables, err := n.Run("nft", "list", "tables", "netdev")
		return err == nil && strings.Contains(tables, "keepvip")
	})
}

// FlushedAnd empties the rule set of the holder, and its daemon is killed for good: immediately, or when the fence is there.
func FlushedAnd(immediately bool) Fault {
	if immediately {
		return atALease(killed("ruleset flushed, daemon killed immediately", Flush))
	}
	return atALease(killed("ruleset flushed, daemon killed", flushed))
}

// atALease has a flush happen to a holder that has a lease. Where anybody can delete a table, nothing fences one without a lease until its daemon runs.
func atALease(fault Fault) Fault {
	return func(g *Group) (*Result, error) {
		return atTheHolder(func() (*Result, error) {
			res, err := fault(g)
			if err == nil && !res.Report.Leads(res.Victim, res.FaultAt) {
				err = errNotHeld
			}
			return res, err
		})
	}
}

// FlushedAndStopped empties the rule set of the holder, and its daemon stands still when the fence is there.
func FlushedAndStopped(length time.Duration) Fault {
	return atALease(func(g *Group) (*Result, error) {
		return Silenced("ruleset flushed, SIGSTOP", func(p *lab.Process, length time.Duration, stands func()) error {
			n := g.Lab.Nodes[slices.Index(g.Daemons, p)]
			return sequence(func() error { return flushed(n) }, func() error { return p.Pause(length, stands) })
		}, length)(g)
	})
}

// Flushes are flushes that connections have to outlive. Debian's nftables.service loads a file like this one.
func Flushes() []SpreadEvent {
	load := func(n *lab.Node) error {
		_, err := n.RunInput(`#!/usr/sbin/nft -f

flush ruleset

table inet filter {
	chain input {
		type filter hook input priority filter;
	}
	chain forward {
		type filter hook forward priority filter;
	}
	chain output {
		type filter hook output priority filter;
	}
}
`, "nft", "-f", "-")
		return err
	}
	again := func(n *lab.Node, times int) func() error {
		return func() error {
			for range times {
				if err := Flush(n); err != nil {
					return err
				}
				time.Sleep(100 * time.Millisecond)
			}
			return nil
		}
	}
	return []SpreadEvent{
		{Name: "the holder's rules are flushed each 100 ms for 3 s", Do: func(x *SpreadMove) (*lab.Node, error) {
			x.mark("flushes on %s", x.Holder.Label)
			return nil, sequence(again(x.Holder, 30), x.watched)
		}},
		{Name: "a member's rules are flushed", Do: func(x *SpreadMove) (*lab.Node, error) {
			x.mark("flushes on %s", x.Member.Label)
			return nil, sequence(again(x.Member, 3), x.watched)
		}},
		{Name: "nftables is restarted on all", Do: func(x *SpreadMove) (*lab.Node, error) {
			for _, n := range x.Lab.Nodes {
				x.mark("nft -f on %s", n.Label)
				if err := load(n); err != nil {
					return nil, err
				}
			}
			return nil, x.watched()
		}},
	}
}

// OpenBesideRuleSets opens a group on whose nodes others change the kernel's rule sets all the time.
func OpenBesideRuleSets(cfg Config) func(*lab.Host) (*Group, error) {
	return func(host *lab.Host) (_ *Group, err error) {
		defer try.Catch(&err)
		g := try.Get(Open(host, cfg))
		if err := changeRuleSets(g); err != nil {
			g.Close()
			return nil, err
		}
		return g, nil
	}
}

// changeRuleSets has each node load a large set of its own again and again.
func changeRuleSets(g *Group) (err error) {
	defer try.Catch(&err)
	var elements []string
	for i := range 40000 {
		elements = append(elements, fmt.Sprintf("10.%d.%d.1", i/250, i%250))
	}
	set := "table inet others\ndelete table inet others\ntable inet others { set s { type ipv4_addr; elements = { " + strings.Join(elements, ", ") + " } } }\n"
	for _, n := range g.Lab.Nodes {
		try.Get(n.Start("others", "sh", "-c", "while :; do nft -f "+try.Get(n.WriteFile("others.nft", set, 0o644))+"; done"))
	}
	return nil
}
