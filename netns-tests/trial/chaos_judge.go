package trial

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// judge looks for what must not have been.
func (c *Chaos) judge(res *EpisodeResult, claims []claim) {
	c.judgeDoubles(res)
	c.judgeOutages(res)
	c.judgePulls(res)
	c.judgeClaims(res, claims)
	c.judgeCosts(res)
	for i, n := range c.nodes {
		if !n.daemon.Alive() {
			res.Wrong = append(res.Wrong, fmt.Sprintf("the daemon on n%d has ended", i+1))
			if err := c.start(n); err != nil {
				res.Wrong = append(res.Wrong, err.Error())
			}
		}
	}
}

// judgeDoubles: at most one answers for an address, but for the moment in which it is passed on, and VRRP's silent partition.
func (c *Chaos) judgeDoubles(res *EpisodeResult) {
	for _, e := range c.entries {
		for _, a := range e.addresses {
			at := time.Duration(0)
			for _, w := range append(c.allowed(res, e), span{res.Report.Ended, res.Report.Ended}) {
				switch two := res.Report.TwoIn(at, w.from, a); {
				case e.raft && two > 0:
					res.Wrong = append(res.Wrong, fmt.Sprintf("two answer for %s, for %s ms", a, lab.Milliseconds(two)))
				case two > both: // who is late to hear of the other is late to yield
					res.slow("two answer for %s, for %s ms", a, lab.Milliseconds(two))
				}
				if two := res.Report.DiscoveryTwoIn(at, w.from, a); two > round {
					res.slow("two answer ARP or neighbour discovery for %s, for %s ms", a, lab.Milliseconds(two))
				}
				at = max(at, w.to)
			}
			for _, n := range c.nodes {
				if late := res.Report.Overdue(n.ID, a); !e.raft && len(late) > 0 {
					res.Wrong = append(res.Wrong, fmt.Sprintf("%s answers %d times for %s after its lease", n.Label, len(late), a))
				}
			}
		}
	}
}

type span struct{ from, to time.Duration }

// allowed are the times in which two may answer, in order. One whose link is gone is none of them: it knows that nobody hears it.
func (c *Chaos) allowed(res *EpisodeResult, e chaosEntry) []span {
	var spans []span
	for _, in := range res.injected {
		from := in.from
		if in.kind.heals {
			from = in.undone
		}
		if (in.kind.two || in.kind.heals) && !e.raft {
			spans = append(spans, span{from, in.to + healed})
		}
		for _, other := range res.injected {
			if !e.raft && in.cutsOff(other) {
				spans = append(spans, span{max(in.from, other.from), min(in.to, other.to) + healed})
			}
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return int(a.from - b.from) })
	return spans
}

// cutsOff tells whether a node hears neither the advertisements of another one, for this reason, nor its messages, for that: a partition to VRRP, in one
// direction, though each of the two alone is none.
func (in *injected) cutsOff(other *injected) bool {
	adverts, words := in.kind.adverts, other.kind.words
	if adverts == nil || words == nil {
		return false
	}
	same := in.node == other.node
	lost := func(way *lab.Direction, is lab.Direction) bool { return *way == lab.Both || *way == is }
	deaf := lost(adverts, lab.In) && (same && lost(words, lab.In) || !same && lost(words, lab.Out))
	mute := lost(adverts, lab.Out) && (same && lost(words, lab.Out) || !same && lost(words, lab.In))
	return deaf || mute
}

// judgePulls: a node whose link is back listens before it announces. Clients that it pulls away from the new holder lose their
// connections, even where it yields a moment later. With a second injection the address may rightly move there, and by Raft it may at any
// time: nobody else has it then.
func (c *Chaos) judgePulls(res *EpisodeResult) {
	if len(res.injected) != 1 || !res.injected[0].kind.away || res.injected[0].kind.two {
		return
	}
	in := res.injected[0]
	for _, e := range c.entries {
		if e.raft {
			continue
		}
		for _, a := range e.addresses {
			res.judgePull(in, a)
		}
	}
}

func (r *EpisodeResult) judgePull(in *injected, a netip.Addr) {
	for _, change := range r.Report.Stream("c1", a).Changes {
		if change.To == in.node.ID && change.At > in.undone && change.At < in.to+healed {
			r.slow("clients of %s are pulled to %s %d ms after its link is back", a, in.node.Label, (change.At - in.undone).Milliseconds())
		}
	}
}

// judgeOutages: an address is silent only because of something that was done, and no longer than that may take.
func (c *Chaos) judgeOutages(res *EpisodeResult) {
	for i, e := range c.entries {
		for family, a := range e.addresses {
			s := res.Report.Stream("c1", a)
			for _, o := range s.Outages {
				res.Outages[a.String()] = max(res.Outages[a.String()], o.Length)
				if limit := c.limit(res, i, family, o); o.Length > limit {
					res.slow("%s silent for %s ms at %+d ms, limit %s", a,
						lab.Milliseconds(o.Length), (o.At - res.injected[0].from).Milliseconds(), lab.Milliseconds(limit))
				}
			}
		}
	}
}

// tail is how long after an injection is over an address may still fall silent because of it: a member that was cut off is believed for
// 3.5 s (docs/protocol.md), and an address that a killed holder has left lives for 4 s (docs/fence.md).
const tail = 4 * time.Second

// limit is how long an outage of an entry's first (0) or second address may be: what all injections that explain it may cost together.
func (c *Chaos) limit(res *EpisodeResult, entry, family int, o lab.Outage) time.Duration {
	limit, gone := 20*time.Millisecond, 0
	var away []span
	for _, in := range res.injected {
		if o.End < in.from || o.At > in.to+tail {
			continue
		}
		raft := c.entries[entry].raft
		cost := in.kind.others
		switch {
		case raft && (in.held[entry] || len(res.injected) > 1):
			cost = in.kind.raft
		case in.held[entry] || len(res.injected) > 1:
			cost = in.kind.vrrp
			if family > 0 {
				cost = max(cost, in.secondFamily(len(res.injected) > 1))
			}
		}
		limit += cost
		if raft && (in.kind.raft == elected || in.Kind == "SIGTERM") {
			gone++
			away = append(away, span{in.from, in.to})
		}
	}
	if gone > 1 { // no majority while both are away, nor while they begin again
		limit += max(min(away[0].to, away[1].to)-max(away[0].from, away[1].from), 0) + elected
	}
	return limit
}

// KnownEpisode is an episode that has found something once. It is kept as it was: a new kind changes what every seed draws.
type KnownEpisode struct {
	Plan  []Injection
	Found string
}

// KnownEpisodes are all of them: they run before any new one.
func KnownEpisodes() []KnownEpisode {
	const alone = "two answered while protocol 112 alone was lost"
	const ms = time.Millisecond
	return []KnownEpisode{
		{[]Injection{{Kind: "112 lost, in", After: 885 * ms, For: 1409 * ms, Entry: chaosRaft, Role: 2, Detail: 2997765078}}, alone + " on its way in"},
		{[]Injection{{Kind: "112 lost, in and out", After: 1039 * ms, For: 1820 * ms, Entry: chaosPeers, Role: 1, Detail: 902102442}}, alone + ", both ways"},
		{[]Injection{
			{Kind: "SIGSTOP", After: 1442 * ms, For: 1833 * ms, Entry: chaosRaft, Role: 2, Detail: 3573357039},
			{Kind: "112 lost, in and out", After: 458 * ms, For: 3298 * ms, Entry: chaosRaft, Role: 2, Detail: 1687793514},
		}, alone + ", beside a frozen node"},
		{[]Injection{{Kind: "cable", After: 1190 * ms, For: 781 * ms, Entry: chaosGroup, Role: 0, Detail: 601898147}}, "a holder whose cable was back announced before it had listened"},
		{[]Injection{
			{Kind: "kill -9", After: 100 * ms, For: 300 * ms, Entry: chaosGroup, Role: 1},
			{Kind: "deaf", After: 3400 * ms, For: 3239 * ms, Entry: chaosGroup, Role: 1, Detail: 511065505},
		}, "a deaf node took one of two addresses soon after its start: it had no witness for it"},
	}
}

// chaosCost is what a daemon had after an episode.
type chaosCost struct {
	at    time.Duration
	rss   int64
	files int
}

// chaosUsed is how much processor time a daemon had used at an instant.
type chaosUsed struct{ at, used time.Duration }

const (
	// mostCPU is what a daemon may need of a core, averaged over an episode: a wide bound. One that begins and does everything once
	// needs a tenth of it, and one that spins needs all of a core on any machine.
	mostCPU = 60
	// mostRSS is what a daemon with three entries may need at any time.
	mostRSS = 40 << 20
	// growth is what may come on top of what a daemon had once it was warm.
	growthRSS, growthFiles = 8 << 20, 8
	// warm is after how many episodes a daemon has done everything once.
	warm = 5
)

// countCPU begins to count what the daemons use.
func (c *Chaos) countCPU() {
	for _, n := range c.nodes {
		if used, err := n.daemon.CPU(); err == nil {
			n.before = chaosUsed{c.lab.Now(), used}
		}
	}
}

// judgeCPU: no daemon spins. That the machine stood still excuses nothing, for a daemon that does not run needs nothing.
func (r *EpisodeResult) judgeCPU(label string, before, after chaosUsed) {
	used, passed := after.used-before.used, after.at-before.at
	if passed > 0 && used*100 > passed*mostCPU {
		r.Wrong = append(r.Wrong, fmt.Sprintf("%s has used %d ms of a processor within %d ms", label, used.Milliseconds(), passed.Milliseconds()))
	}
}

// judgeCosts: no daemon spins, and memory and descriptors of a daemon stay the same, however much happens.
func (c *Chaos) judgeCosts(res *EpisodeResult) {
	for _, n := range c.nodes {
		rss, err := n.daemon.RSS()
		if err != nil {
			continue // it has ended, which is told elsewhere
		}
		if used, err := n.daemon.CPU(); err == nil {
			res.judgeCPU(n.Label, n.before, chaosUsed{c.lab.Now(), used})
		}
		files, err := n.daemon.Files()
		if err != nil {
			continue
		}
		n.costs = append(n.costs, chaosCost{c.lab.Now(), rss, files})
		if rss > mostRSS {
			res.Wrong = append(res.Wrong, fmt.Sprintf("%s has %.1f MiB", n.Label, float64(rss)/(1<<20)))
		}
		if len(n.costs) <= warm {
			continue
		}
		base := n.costs[warm-1]
		if rss > base.rss+growthRSS || files > base.files+growthFiles {
			res.Wrong = append(res.Wrong, fmt.Sprintf("%s has grown within %v from %.1f MiB and %d files to %.1f MiB and %d files", n.Label,
				(c.lab.Now()-base.at).Round(time.Second), float64(base.rss)/(1<<20), base.files, float64(rss)/(1<<20), files))
		}
	}
}
