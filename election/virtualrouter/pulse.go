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
	// Beats tells whether a beat of the node was heard since then.
	Beats(source netip.Addr, since time.Time) bool
	// State is for how long a beat may be late, and why an Active would not be found to be gone; empty if it would.
	State(active netip.Addr) (wait time.Duration, why string)
}

// fall is how an Active was found to be gone; the zero fall is not at all.
type fall struct {
	at  time.Time
	how string // "no beat for 41 ms, 10 echoes unanswered, n3 agreed"
}

// nodeGone takes in that the node of a holder is gone, as this node and another have found. A Backup takes over when its turn comes: the others have found
// it in the same moment, or a little later.
func (m *machine) nodeGone(g *pulse.Gone) {
	if m.cfg.Members == nil || m.cfg.Members.Pulse == nil {
		return // another entry goes by beats
	}
	source := g.Source.WithZone("")
	if why := m.strangers(); why != "" {
		m.say(slog.LevelInfo, "the node of the Active is gone, and the advertisements decide", "from", source.String(), "because", why)
		return
	}
	if h := m.heard.findPlain(source); h != nil {
		h.fall = fall{m.now, m.evidence(g)}
	}
	before, _ := m.takers(source)
	e := ending{source: source, at: g.Since, due: m.now.Add(time.Duration(before) * max(rankGap, 2*g.Wait)), node: true}
	if m.follows(e) {
		m.ending = e
		m.judgeEnding()
	}
}

func (m *machine) evidence(g *pulse.Gone) string {
	said := fmt.Sprintf("no beat for %d ms, %d echoes unanswered", g.Silent.Milliseconds(), g.Echoes)
	if g.Witness.IsValid() {
		return said + ", while " + g.Witness.String() + " answers"
	}
	var by []string
	for _, a := range g.Agreed {
		by = append(by, named(election.Node{Address: a, Name: m.roster.nameOf(a)}))
	}
	return said + ", " + strings.Join(by, " and ") + " agreed"
}

const (
	// beatLately is the age of a beat that shows that the Active advertises, and that the advertisements are lost: one in many beats arrives on any
	// network that is of use. A process that stands still, or ends, has sent none for longer when its advertisements are missed. It is two intervals at most.
	beatLately = 6 * pulse.Every
	// mostMissed is how many advertisements may be missed while beats come. An Active whose beats alone arrive is followed no longer.
	mostMissed = 10
	// leastMissed is how many are missed when they are lost: a Backup whose turn comes sooner has another reason.
	leastMissed = 2
)

// beating tells that the Active, whose advertisements this Backup misses, beats: then they were lost, and not missed.
func (m *machine) beating() bool {
	due, armed := m.router.Deadline()
	if !m.beats || !armed || due.After(m.now) || m.state != election.Backup || m.strangers() != "" {
		return false
	}
	s := m.router.Snapshot()
	h := m.heard.findPlain(s.Followed)
	if h == nil || h.resigned || m.x.isDeaf(s.Followed) {
		return false // it gives the address up, or has to
	}
	silent := m.now.Sub(h.at)
	return silent >= leastMissed*s.ActiveAdverInterval && silent < mostMissed*s.ActiveAdverInterval
}

// beats tells whether the Active that is followed was heard by a beat lately.
func (e *Elector) beats() bool {
	if e.cfg.Members == nil || e.cfg.Members.Pulse == nil {
		return false
	}
	e.mu.Lock()
	s := e.machine.router.Snapshot()
	e.mu.Unlock()
	lately := min(beatLately, 2*s.ActiveAdverInterval)
	return s.State == vrrp.Backup && s.Followed.IsValid() && e.cfg.Members.Pulse.Beats(s.Followed, time.Now().Add(-lately))
}

// strangers is why this group is no group of members alone; empty if it is. With other routers the advertisements alone decide who takes over, and when.
func (m *machine) strangers() string {
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
func (m *machine) pulse() (holds bool, follows netip.Addr) {
	s := m.router.Snapshot()
	if s.State != vrrp.Backup || m.quiet {
		return s.State == vrrp.Active, netip.Addr{}
	}
	return false, s.Followed
}

func (e *Elector) tellPulse() {
	if e.cfg.Members == nil || e.cfg.Members.Pulse == nil {
		return
	}
	e.mu.Lock()
	holds, follows := e.machine.pulse()
	e.mu.Unlock()
	e.cfg.Members.Pulse.Tell(holds && !e.unsent, follows) // beats are no better than the advertisements that the kernel refuses
}

// answers tells whether somebody answers for the address, or the node that is said to be gone was heard after all.
func (e *Elector) answers(q question) bool {
	return e.cfg.Lifeline.Answers(q.Addr) || q.of.node && e.cfg.Members.Pulse.Heard(q.of.source, q.of.at)
}

// detector is how this node would find out that the node of the Active is gone.
func (e *Elector) detector(s *election.Status) *election.Detector {
	if e.cfg.Members == nil || e.cfg.Members.Pulse == nil {
		return nil
	}
	wait, why := e.cfg.Members.Pulse.State(s.Holder)
	e.mu.Lock()
	strangers := e.machine.strangers()
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
