package virtualrouter

import (
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/members/pulse"
	"github.com/keepvip/keepvip/vrrp"
)

// Pulse finds out whether the node of the Active is gone, and says so by way of the members' messages. All methods are safe from any goroutine.
type Pulse interface {
	// Tell says whether this node holds the addresses, and which Active it follows; the zero Addr for none. It is a level.
	Tell(holds bool, follows netip.Addr)
	// Heard tells whether the node, or its kernel, was heard since then.
	Heard(source netip.Addr, since time.Time) bool
	// Beat is when a beat of the node was heard last; zero: never, or it does not beat any more.
	Beat(source netip.Addr) time.Time
	// State is for how long a beat may be late, and why an Active would not be found to be gone; empty if it would.
	State(active netip.Addr) (wait time.Duration, why string)
}

// nodeGone takes in that the node of a holder is gone, as this node and another have found. A Backup takes over when its turn comes: the others have found
// it in the same moment, or a little later.
func (w *watch) nodeGone(g *pulse.Gone) {
	m := w.m
	if m.cfg.Pulse == nil {
		return // another entry goes by beats
	}
	source := g.Source.WithZone("")
	if why := w.strangers(); why != "" {
		m.say(slog.LevelInfo, "the node of the Active is gone, and the advertisements decide", "from", source.String(), "because", why)
		return
	}
	m.heard.fell(source, fall{m.now, code.NodeGone, w.evidence(g)})
	e := ending{source: source, at: g.Since, due: m.now.Add(w.turn(source, max(rankGap, 2*g.Wait))), node: true}
	if w.follows(e) {
		w.ending = e
		w.judgeEnding()
	}
}

func (w *watch) evidence(g *pulse.Gone) string {
	said := fmt.Sprintf("no beat for %d ms, %d echoes unanswered", g.Silent.Milliseconds(), g.Echoes)
	if g.Witness.IsValid() {
		return said + ", while " + g.Witness.String() + " answers"
	}
	var by []string
	for _, a := range g.Agreed {
		by = append(by, election.Node{Address: a, Name: w.m.roster.nameOf(a)}.Called())
	}
	return said + ", " + strings.Join(by, " and ") + " agreed"
}

const (
	// mostMissed is how many advertisements may be missed while something shows that they are lost. An Active whose beats alone arrive is followed no longer.
	mostMissed = 10
	// leastMissed is how many are missed when they are lost: a Backup whose turn comes sooner has another reason.
	leastMissed = 2
)

// judgeSilence lets the router go on whose timer has expired. A Backup that misses advertisements of an Active that beats waits until the lease of the last one
// is over that may have been lost. Then it asks for the address: a kernel that answers has a lease, and that began with an advertisement which was lost, too.
func (w *watch) judgeSilence() {
	m := w.m
	if m.fitness.waiting() || m.hearing.undecided() {
		return
	}
	bridged := w.bridged()
	switch w.patient = bridged; {
	case bridged.IsZero():
		m.stepRouter(vrrp.Expired{})
	case !bridged.After(m.now):
		m.agenda.ask(question{m.cfg.first(), ending{source: m.router.Snapshot().Followed, at: m.now}}, func(r response) {
			if r.answered {
				w.patient = m.now.Add(pulse.Every)
				return
			}
			m.drain(true, func() { m.stepRouter(vrrp.Expired{}) }) // another one may have taken over meanwhile
		})
	}
}

// bridged is until when the beats of the Active show that its advertisements were lost, and not missed: those that were due by its last beat have left, and a
// lease began with each. It is in the past where none was, and zero for a Backup that has no reason to doubt that its Active is silent.
func (w *watch) bridged() (until time.Time) {
	m := w.m
	due, armed := m.router.Deadline()
	if w.beat.IsZero() || !armed || due.After(m.now) || m.state != election.Backup || w.strangers() != "" {
		return time.Time{}
	}
	s := m.router.Snapshot()
	h := m.heard.findPlain(s.Followed)
	if h == nil || h.resigned || m.x.isDeaf(s.Followed) {
		return time.Time{} // it gives the address up, or has to
	}
	if silent := m.now.Sub(h.at); silent < leastMissed*s.ActiveAdverInterval || silent >= mostMissed*s.ActiveAdverInterval {
		return time.Time{}
	}
	lost := (w.beat.Sub(h.at) - pulse.LeastWait) / s.ActiveAdverInterval // an advertisement may be a little late itself
	return due.Add(max(0, min(lost, mostMissed-3)) * s.ActiveAdverInterval)
}

// beat is when the Active that is followed was heard by a beat last; zero for never.
func (e *Elector) beat() time.Time {
	if e.cfg.Pulse == nil {
		return time.Time{}
	}
	e.mu.Lock()
	s := e.machine.router.Snapshot()
	e.mu.Unlock()
	if s.State != vrrp.Backup || !s.Followed.IsValid() {
		return time.Time{}
	}
	return e.cfg.Pulse.Beat(s.Followed)
}

// strangers is why this group is no group of members alone; empty if it is. With other routers the advertisements alone decide who takes over, and when.
func (w *watch) strangers() string {
	m := w.m
	stranger := func(a netip.Addr) bool { return !m.own(a) && !m.roster.has(a) }
	if i := slices.IndexFunc(m.heard.list, func(h heard) bool { return stranger(h.source) }); i >= 0 {
		return m.heard.list[i].source.String() + " advertises and is no member"
	}
	if i := slices.IndexFunc(m.cfg.Peers, stranger); i >= 0 {
		return m.cfg.Peers[i].String() + " of vrrp.peers is not heard as a member"
	}
	return ""
}

// pulse is what is to be told of this node: whether it holds the addresses, and whom it follows.
func (w *watch) pulse() (holds bool, follows netip.Addr) {
	s := w.m.router.Snapshot()
	if s.State != vrrp.Backup || w.m.quiet {
		return s.State == vrrp.Active, netip.Addr{}
	}
	return false, s.Followed
}

func (e *Elector) tellPulse() {
	if e.cfg.Pulse == nil {
		return
	}
	e.mu.Lock()
	holds, follows := e.machine.watch.pulse()
	e.mu.Unlock()
	e.cfg.Pulse.Tell(holds && !e.out.unsent, follows) // beats are no better than the advertisements that the kernel refuses
}

// answers tells whether somebody answers for the address, or the node that is said to be gone was heard after all.
func (e *Elector) answers(q question) bool {
	return e.cfg.Answers(q.Addr) || q.of.node && e.cfg.Pulse != nil && e.cfg.Pulse.Heard(q.of.source, q.of.at)
}

// detector is how this node would find out that the node of the Active is gone.
func (e *Elector) detector(s *election.Status) *election.Detector {
	if e.cfg.Pulse == nil {
		return nil
	}
	wait, why := e.cfg.Pulse.State(s.Holder)
	e.mu.Lock()
	strangers := e.machine.watch.strangers()
	e.mu.Unlock()
	switch {
	case strangers != "":
		why = strangers
	case s.State != election.Backup:
		why = ""
	}
	d := &election.Detector{Wait: wait.Seconds(), Plain: why}
	if why != "" {
		d.Code = code.DetectorPlain
	}
	return d
}
