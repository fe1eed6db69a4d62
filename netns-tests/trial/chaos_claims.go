package trial

import (
	"fmt"
	"slices"
	"time"
)

// near is how far from a claim the answers may be that speak for it.
const near = 500 * time.Millisecond

// refutedClaim is what a daemon says while its node does something else.
type refutedClaim struct {
	since time.Duration
	wrong bool
	told  bool // it was noted
}

// judgeClaims: what a daemon says and what its node does do not differ for long.
func (c *Chaos) judgeClaims(res *EpisodeResult, claims []claim) {
	type key struct {
		node  int
		entry string
	}
	refutations := map[key]*refutedClaim{}
	for _, cl := range claims {
		k := key{cl.node, cl.entry}
		if refutations[k] == nil {
			refutations[k] = &refutedClaim{}
		}
		why := ""
		if !c.unreachable(res, cl) {
			why = c.refutes(res, cl)
		}
		c.judgeClaim(res, cl, refutations[k], why)
	}
}

// judgeClaim takes in the next claim of a node, and why it is wrong, "" if it is not.
func (c *Chaos) judgeClaim(res *EpisodeResult, cl claim, r *refutedClaim, why string) {
	if !r.wrong {
		r.since = cl.at
	}
	r.wrong = why != ""
	if !r.wrong || r.told || cl.at-r.since <= refuted {
		return
	}
	r.told = true
	res.slow("n%d says of %s for more than %v: %s", cl.node, cl.entry, refuted, why)
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
