package trial

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// claim is what a node said of an entry, as in `keepvip status -o json`.
type claim struct {
	at       time.Duration
	node     int
	entry    string
	state    string
	observed string
	holder   string
	members  []string // that it shows as active, by address, and does not name DEAF
	deaf     bool     // it names itself DEAF
	lacking  bool     // it says that addresses are missing
}

// statusWatch asks every daemon again and again what it claims.
type statusWatch struct {
	quit chan struct{}
	wait sync.WaitGroup

	mu     sync.Mutex
	claims []claim
}

const (
	// askEvery is the time between two questions to one daemon.
	askEvery = 400 * time.Millisecond
	// refuted is for how long a claim may be wrong: what a member has said is believed for 3.5 s (docs/protocol.md), and the daemon is
	// asked once in askEvery.
	refuted = 4 * time.Second
)

func watchStatus(c *Chaos) *statusWatch {
	w := &statusWatch{quit: make(chan struct{})}
	for _, n := range c.nodes {
		w.wait.Go(func() { w.follow(c, n) })
	}
	return w
}

func (w *statusWatch) follow(c *Chaos, n *chaosNode) {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		select {
		case <-w.quit:
			return
		case <-tick.C:
		}
		at := c.lab.Now()
		var s Status
		if askStatus(n.Node, askEvery, &s) != nil {
			continue // one that does not answer claims nothing
		}
		w.mu.Lock()
		for _, v := range s.VIPs {
			w.claims = append(w.claims, claim{
				at: at, node: n.ID, entry: v.Name, state: v.State, observed: v.Observed, holder: v.Holder, members: v.activeMembers(),
				deaf: namesDeaf(v.Unfit), lacking: v.Lacking != "",
			})
		}
		w.mu.Unlock()
	}
}

// namesDeaf tells whether the reason why a node is not fit is that nothing arrives there.
func namesDeaf(unfit string) bool { return strings.Contains(unfit, "DEAF") }

// activeMembers are the others that the node shows as active, and at which something arrives.
func (v VIPStatus) activeMembers() []string {
	var active []string
	for _, m := range v.Members {
		if m.State == "active" && !m.Self && !namesDeaf(m.Unfit) {
			active = append(active, m.Address)
		}
	}
	return active
}

// take returns what was claimed since it was called last.
func (w *statusWatch) take() []claim {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.claims
	w.claims = nil
	return taken
}

func (w *statusWatch) stop() {
	close(w.quit)
	w.wait.Wait()
}

// near is how far from a claim the answers may be that speak for it.
const near = 500 * time.Millisecond

// judgeClaims: what a daemon says and what its node does do not differ for long.
func (c *Chaos) judgeClaims(res *EpisodeResult, claims []claim) {
	type key struct {
		node  int
		entry string
	}
	wrongSince, told := map[key]time.Duration{}, map[key]bool{}
	for _, cl := range claims {
		k, why := key{cl.node, cl.entry}, ""
		if !c.unreachable(res, cl) {
			why = c.refutes(res, cl)
		}
		switch since, wrong := wrongSince[k]; {
		case why == "":
			delete(wrongSince, k)
		case !wrong:
			wrongSince[k] = cl.at
		case cl.at-since > refuted && !told[k]:
			told[k] = true
			res.slow("n%d says of %s for more than %v: %s", cl.node, cl.entry, refuted, why)
		}
	}
}

// unreachable tells that the node was, or had just been, where nobody can ask it.
func (c *Chaos) unreachable(res *EpisodeResult, cl claim) bool {
	return slices.ContainsFunc(res.injected, func(in *injected) bool {
		return in.node.ID == cl.node && (in.kind.away || in.kind.two) && cl.at > in.from-near && cl.at < in.to+time.Second
	})
}

// refutes tells what the answers on the link say against a claim, "" if nothing.
func (c *Chaos) refutes(res *EpisodeResult, cl claim) string {
	i := slices.IndexFunc(c.entries, func(e chaosEntry) bool { return e.name == cl.entry })
	if i < 0 || cl.at < res.Report.Began+near || cl.at > res.Report.Ended-near {
		return ""
	}
	addresses := c.entries[i].addresses
	answered := func(node int, from, to time.Duration) bool {
		return res.Report.Answered(node, addresses[0], from, to)
	}
	answers := func(node int) bool { return answered(node, cl.at-near, cl.at+near) }
	steadily := func(node int) bool { return answered(node, cl.at-near, cl.at) && answered(node, cl.at, cl.at+near) }
	switch {
	case cl.deaf && steadily(cl.node):
		return "DEAF, but it answers"
	case cl.deaf:
		return "" // what it knows of others is what it heard before
	case cl.state == "active" && !answers(cl.node):
		return "active, but it does not answer"
	case cl.state == "active" && !cl.lacking && len(addresses) > 1 && !res.Report.Answered(cl.node, addresses[1], cl.at-near, cl.at+near):
		return fmt.Sprintf("active, but it does not answer for %s, which it does not call missing", addresses[1])
	case cl.state != "active" && cl.observed != "draining" && steadily(cl.node):
		return fmt.Sprintf("%s, but it answers", cl.state)
	}
	for _, n := range c.nodes {
		if own := n.Address.String(); cl.holder != "" && cl.holder != own && steadily(n.ID) && !c.answersAt(cl.holder, answers) {
			return fmt.Sprintf("%s holds, but %s answers", cl.holder, n.Label)
		}
	}
	for _, m := range cl.members {
		if !c.answersAt(m, answers) {
			return fmt.Sprintf("the member %s is active, but it does not answer", m)
		}
	}
	return ""
}

func (c *Chaos) answersAt(address string, answers func(int) bool) bool {
	return slices.ContainsFunc(c.nodes, func(n *chaosNode) bool { return n.Address.String() == address && answers(n.ID) })
}
