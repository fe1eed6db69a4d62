package trial

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// Cause is one of the ways in which an address moves, and what every node has to say of it: in the log, in the status, and in whatever
// else tells of causes.
type Cause struct {
	Name string
	// Alone is one that needs a lab of its own, set up in this way; the others follow each other in one lab with [Config] API.
	Alone *CauseLab
	// Stays tells that the address stays where it is: After is the next node, and only statuses say something.
	Stays bool
	// Happen brings it about, and Mend leaves the group whole again; nil where there is nothing to mend.
	Happen func(g *Group, holder *lab.Node) error
	Mend   func(g *Group, former *lab.Node) error
	// Before, After and Other are what the holder before, the one after and the third say. A zero Said is not asked for.
	Before, After, Other Said
}

// CauseLab is how a lab differs from the usual one.
type CauseLab struct {
	Args       func(l *lab.Lab, n *lab.Node) []string // added to the flags of a node
	Priorities []int
	API        bool
	Unowned    bool // others can take nftables tables away, as on a kernel before 6.9
}

// Said is what a node says of a move.
type Said struct {
	Code    string // of the move, in its log; empty: the log is not asked
	Cause   string // a regular expression: what the old holder said, or how it looked from here
	AskedBy string
	Status  string // a piece of `keepvip status -o json`, without white space; empty: the code of the reason is Code
	Same    bool   // the state of this node has not changed, so that the code of its reason is an older one
}

// NamedNodes is keepvip on nodes that have names of their own: n1, n2, n3.
type NamedNodes struct {
	Path string // of the binary; empty: that under test
	Args []string
}

// Name implements [Product].
func (NamedNodes) Name() string { return "keepvip" }

// Start implements [Product].
func (p NamedNodes) Start(n *lab.Node, s Settings) (_ *lab.Process, err error) {
	defer try.Catch(&err)
	path := try.Get(Keepvip{Path: p.Path}.binary())
	script := fmt.Sprintf("#!/bin/sh\nexec unshare --uts sh -c 'echo %s >/proc/sys/kernel/hostname; exec \"$0\" \"$@\"' %s \"$@\"\n", n.Label, path)
	return Keepvip{Path: try.Get(n.WriteFile("keepvip-named", script, 0o755)), Args: p.Args}.Start(n, s)
}

// OpenCauses opens a lab for causes, with named nodes.
func OpenCauses(host *lab.Host, as *CauseLab) (*Group, error) {
	// No move is timed, and a daemon that the machine keeps waiting for an Active_Down_Interval is dead to the others.
	cfg := Config{Product: NamedNodes{}, API: as == nil, Interval: 200 * time.Millisecond}
	if as != nil {
		cfg.Priorities, cfg.API = as.Priorities, as.API
	}
	var path string
	if as != nil && as.Unowned {
		var err error
		if path, err = Unowned(); err != nil {
			return nil, err
		}
	}
	return openBy(host, cfg, func(g *Group) (err error) {
		defer try.Catch(&err)
		for _, n := range g.Lab.Nodes {
			p := NamedNodes{Path: path}
			if as != nil && as.Args != nil {
				p.Args = as.Args(g.Lab, n)
			}
			g.Daemons[n.ID-1] = try.Get(p.Start(n, g.Settings[n.ID-1]))
		}
		return nil
	})
}

// Moved is a cause that has happened.
type Moved struct {
	Cause                *Cause
	Before, After, Other *lab.Node
	daemons              []*lab.Process // before
	logged               []int          // how long each one's log was
	since                time.Time
}

// Happened brings a cause about, and waits until another node has the address.
func (c *Cause) Happened(g *Group) (m Moved, err error) {
	defer g.catch(&err)
	m = Moved{Cause: c, daemons: slices.Clone(g.Daemons), Before: try.Get(g.Settle())}
	// A node that has just started and has heard nobody yet cannot tell whom the address moves from.
	try.Do(within(SettleLimit, c.Name+": every node names the holder", func() bool { return g.allName(m.Before) }))
	for _, d := range g.Daemons {
		m.logged = append(m.logged, len(d.Log()))
	}
	m.since = time.Now()
	if err := c.Happen(g, m.Before); err != nil {
		return m, fmt.Errorf("trial: %s: %w", c.Name, err)
	}
	m.After = g.Lab.Nodes[m.Before.ID%len(g.Lab.Nodes)]
	if c.Stays {
		m.Other = g.Lab.Nodes[(m.Before.ID+1)%len(g.Lab.Nodes)]
		return m, nil
	}
	try.Do(within(10*time.Second, c.Name+": another node has the address", func() bool {
		i := slices.IndexFunc(g.Lab.Nodes, func(n *lab.Node) bool { return n != m.Before && n.Holds(g.Addresses[0]) })
		if i >= 0 {
			m.After = g.Lab.Nodes[i]
		}
		return i >= 0
	}))
	m.Other = g.Lab.Nodes[slices.IndexFunc(g.Lab.Nodes, func(n *lab.Node) bool { return n != m.Before && n != m.After })]
	return m, nil
}

// allName reports whether every keepvip that runs says that the node holds the address.
func (g *Group) allName(holder *lab.Node) bool {
	return !slices.ContainsFunc(g.Lab.Nodes, func(n *lab.Node) bool {
		if d := g.Daemon(n); d == nil || !d.Alive() {
			return false
		}
		s, err := Keepvip{}.Status(n)
		return err != nil || s.VIPs[0].Holder != holder.Address.String()
	})
}

// Unsaid is what a node does not say that it has to say of a move, within a second.
func (m Moved) Unsaid(g *Group) (list []string) {
	for _, of := range []struct {
		role string
		node *lab.Node
		said Said
	}{{"the holder before", m.Before, m.Cause.Before}, {"the holder after", m.After, m.Cause.After}, {"the other", m.Other, m.Cause.Other}} {
		if of.said == (Said{}) {
			continue
		}
		var miss []string
		if _, err := until(5*time.Second, "", func() bool { miss = m.misses(g, of.node, of.said); return len(miss) == 0 }); err != nil {
			for _, what := range miss {
				list = append(list, fmt.Sprintf("%s: %s, %s: %s", m.Cause.Name, of.role, of.node.Label, what))
			}
		}
	}
	return list
}

func (m Moved) misses(g *Group, n *lab.Node, s Said) (miss []string) {
	if s.Code != "" {
		line := regexp.MustCompile(`msg="(state|holder) changed".* code=` + s.Code + ` old="` + m.Before.Label + ` \([^ ]*".* cause="` + m.Before.Label +
			`: ` + s.Cause + m.asked(s))
		if s.Cause == "" {
			line = regexp.MustCompile(`msg="(state|holder) changed".* code=` + s.Code)
		}
		if log := m.log(g, n); !line.MatchString(log) {
			miss = append(miss, fmt.Sprintf("no line %s in:\n%s", line, linesOfMoves(log)))
		}
	}
	if !g.Daemon(n).Alive() {
		return miss
	}
	want := s.Status
	if want == "" && s.Code != "" {
		want = `"code":"` + s.Code + `"`
	}
	commands := []string{"status", "explain"}
	if s.Same && s.Status == "" {
		commands = commands[1:] // which tells of the newest move, too
	}
	for _, command := range commands {
		p, _, err := Keepvip{}.Command(n, command, "-o", "json", "--socket", Socket(n))
		if err != nil {
			return append(miss, err.Error())
		}
		if text := strings.Join(strings.Fields(p.Stdout()), ""); !strings.Contains(text, want) {
			miss = append(miss, fmt.Sprintf("%s does not say %s: %s", command, want, text))
		}
	}
	if s.Code != "" {
		miss = append(miss, m.unremembered(n, s)...)
	}
	return miss
}

// unremembered is what the history of a node lacks of the move.
func (m Moved) unremembered(n *lab.Node, s Said) []string {
	p, _, err := Keepvip{}.Command(n, "history", "-o", "json", "--socket", Socket(n))
	if err != nil {
		return []string{err.Error()}
	}
	var doc struct {
		Transitions []struct {
			At            time.Time
			Code, AskedBy string
		}
	}
	if err := json.Unmarshal([]byte(p.Stdout()), &doc); err != nil {
		return []string{fmt.Sprintf("history: %v: %s", err, p.Log())}
	}
	asked := s.AskedBy
	if asked != "" {
		asked += " on " + m.Before.Label
	}
	for _, t := range doc.Transitions {
		if t.At.After(m.since) && t.Code == s.Code && t.AskedBy == asked {
			return nil
		}
	}
	return []string{fmt.Sprintf("history has no transition of %s asked for by %q since %v: %s", s.Code, asked, m.since, p.Stdout())}
}

// log is what a node's keepvip has logged since.
func (m Moved) log(g *Group, n *lab.Node) string {
	text, d := g.Daemon(n).Log(), m.daemons[n.ID-1]
	if d == g.Daemon(n) {
		return text[m.logged[n.ID-1]:]
	}
	return text
}

// asked is what follows the cause in a line.
func (m Moved) asked(s Said) string {
	if s.AskedBy == "" {
		return `"`
	}
	return `" askedBy="` + s.AskedBy + ` on ` + m.Before.Label + `"`
}

// linesOfMoves are the lines about moves.
func linesOfMoves(log string) string {
	var out []string
	for line := range strings.Lines(log) {
		if strings.Contains(line, "changed") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}
