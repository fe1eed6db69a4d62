package virtualrouter

import (
	"log/slog"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/members/lifeline"
	"github.com/keepvip/keepvip/vrrp"
)

const (
	// rankGap is the time between two members that would take over: all hear of an end in the same moment, and the first of them then says that it is
	// the Active.
	rankGap = 8 * time.Millisecond
	// entryTakes is what a takeover costs a processor, at most as a rule: who takes over many entries says so later for the last of them.
	entryTakes = 2 * time.Millisecond
)

// watch judges the end of the Active that this node follows, from whatever says that its process has ended, its node is gone, or it is silent.
type watch struct {
	m       *machine
	ending  ending    // what has ended, while that is judged
	beat    time.Time // when the Active was heard by a beat last, as of the last expired
	patient time.Time // a Backup that misses advertisements of an Active that beats waits until then
}

// turn is after how long it is this node's turn to take over from a node that has ended, where each member has so long.
func (w *watch) turn(from netip.Addr, each time.Duration) time.Duration {
	m := w.m
	before, _ := m.roster.takers(from, m.source, m.router.Snapshot().Priority)
	return time.Duration(before) * min(each+time.Duration(max(m.cfg.Entries-1, 0))*entryTakes, max(each, m.cfg.Router.Interval))
}

// ending is the Active that this Backup followed, and whose process has ended, or whose node is gone; the zero ending is none.
type ending struct {
	source netip.Addr
	at     time.Time // when that was heard, or when this node began to look
	due    time.Time // when it is this node's turn
	node   bool      // the node is gone
}

// lineEnded takes in what has become of the line to a member. A Backup takes over when its turn comes. The Active says that it is there: whoever
// broke its line may have broken the other end, too, where that looks like a death.
func (w *watch) lineEnded(r members.Received) {
	m := w.m
	source := r.Source.WithZone("")
	if r.Line == lifeline.Broken {
		m.stepRouter(vrrp.Assert{})
		return
	}
	m.heard.fell(source, fall{r.At, code.ProcessEnded, "its process ended, and its kernel has closed the lifeline"})
	e := ending{source: source, at: r.At, due: m.now.Add(w.turn(source, rankGap))}
	if w.follows(e) {
		w.ending = e
		w.judgeEnding()
	}
}

// follows tells whether the process that has ended is that of the Active that this node follows, and nothing was heard of it since.
func (w *watch) follows(e ending) bool {
	m := w.m
	if m.cfg.Answers == nil || m.state != election.Backup || m.quiet || m.fitness.waiting() || m.fitness.noCandidate {
		return false
	}
	h := m.heard.findPlain(e.source)
	return m.router.Snapshot().Followed == e.source && (h == nil || !h.at.After(e.at))
}

// judgeEnding takes over when this node's turn has come, and nobody answers for the address: the kernel of a process that has ended has taken the lease
// away before it said so, and a node that is gone has none. Where somebody does answer, something on the way has broken the line, or is late, and the
// lease decides.
func (w *watch) judgeEnding() {
	m := w.m
	e := w.ending
	if e.due.IsZero() || m.now.Before(e.due) {
		return
	}
	w.ending = ending{}
	if !w.follows(e) {
		return
	}
	m.agenda.ask(question{m.cfg.first(), e}, func(r response) {
		if r.answered {
			m.say(slog.LevelInfo, e.answered(), "from", e.source.String())
			return
		}
		m.drain(true, func() {
			if !w.follows(e) {
				return
			}
			m.stepRouter(vrrp.Gone{Source: e.source, Node: e.node})
		})
	})
}

// answered is what is said where somebody answers for the address, or for the node.
func (e ending) answered() string {
	if e.node {
		return "the node of the Active looked as if it were gone, and it answers: its lease decides"
	}
	return "the lifeline of the Active has ended, and the address is answered for: its lease decides"
}
