package virtualrouter

import (
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

// Ears ask the hosts of a link, by ARP or neighbour discovery, whether they are there, and hear them. All methods return immediately, and are
// safe from any goroutine.
type Ears interface {
	// Ask asks each of these hosts once; with Wide the neighbours, too, that the kernel knows on the link, and with Named its routers.
	Ask(q members.Question)
	// Heard appends who has said something since then.
	Heard(dst []Voice, since time.Time) []Voice
	// Sound tells when something has arrived here for this Virtual Router last, and returns when it has for any on the link: one that hears
	// nothing need not ask while another does.
	Sound(own time.Time) (last time.Time)
}

// Voice is a host that was heard by ARP or neighbour discovery.
type Voice struct {
	From netip.Addr
	MAC  [6]byte // zero: not known
	At   time.Time
	// Answered is when it answered a question of this node; zero: it has not. Ears that several Virtual Routers share ask a host once for all of them.
	Answered time.Time
}

const (
	// quietHolder is after how long without a sound a holder asks whether it hears. Backups say nothing but a HELLO each second.
	quietHolder = 400 * time.Millisecond
	// quietBeating is that of a holder whose beats keep the others from taking over. It asks a host four times a second more, and then as often as any, but
	// beatingGap apart.
	quietBeating, beatingGap = 150 * time.Millisecond, 20 * time.Millisecond
	// quietLeast is the least such time of a Backup: advertisements may be late.
	quietLeast = 50 * time.Millisecond
	// quietOut is that of a node that takes no part.
	quietOut = time.Second
)

// hearing finds out whether anything arrives at this node.
type hearing struct {
	m *machine
	members.Hearing
}

// pace is what this node's part makes of silence. A Backup misses an advertisement after one interval, and takes over after three.
func (h *hearing) pace() members.Pace {
	m := h.m
	interval := m.router.Snapshot().ActiveAdverInterval
	p := members.Pace{Settle: 5 * interval, Meet: interval * 3 / 2}
	switch {
	case m.state == election.Active && m.cfg.Pulse != nil:
		p.Quiet, p.Usual, p.Gap = max(quietBeating, interval), true, beatingGap
	case m.state == election.Active:
		p.Quiet, p.Usual = max(quietHolder, interval), true
	case m.state == election.Backup:
		p.Quiet = max(interval*3/2, quietLeast)
	default:
		p.Quiet, p.Usual = quietOut, true
	}
	return p
}

// listen takes in who was heard by ARP or neighbour discovery.
func (h *hearing) listen(list []Voice) {
	for _, v := range list {
		if h.m.own(v.From) {
			continue
		}
		h.Spoken(v.From, v.MAC, v.At, v.Answered)
		if x := h.m.x; x != nil && !v.Answered.IsZero() {
			x.own.blame.hear(v.Answered)
		}
	}
}

// message takes in that a message has arrived. The sender of one that is refused is nobody to ask.
func (h *hearing) message(r members.Received) {
	at := r.At
	if at.IsZero() {
		at = h.m.now
	}
	if r.Refused != "" {
		h.Sound(at)
		return
	}
	h.Hear(r.Source, at)
}

// own tells whether the address is this node's, or a virtual one: who answers for that is nobody in particular.
func (m *machine) own(a netip.Addr) bool {
	return a.WithZone("") == m.source.WithZone("") || slices.Contains(m.cfg.Router.Addresses, a)
}

// judge finds out whether this node is deaf, and asks what has to be asked for that.
func (h *hearing) judge() {
	m := h.m
	if m.cfg.Ears == nil {
		return
	}
	was, last := h.Deaf(), h.Last()
	q := h.Step(m.now, h.pace())
	if l := h.Last(); l != last {
		m.agenda.first(m.routerStep(vrrp.SetLast{On: l}))
	}
	if !q.None() {
		m.agenda.act(ask{q})
	}
	if h.Deaf() == was {
		return
	}
	m.fitness.deaf = ""
	if !was {
		m.fitness.deaf = deafReason(q.To)
		m.agenda.act(line{slog.LevelError, "DEAF: nothing arrives at this node; it comes last until something does", []any{"silent", join(q.To)}})
	} else {
		m.agenda.act(line{slog.LevelInfo, "this node hears again", nil})
	}
	m.agenda.first(m.fitness.fit)
}

// mostNamed is how many silent hosts a reason names.
const mostNamed = 3

func deafReason(silent []netip.Addr) string {
	return "DEAF: nothing arrives here; " + join(silent[:min(len(silent), mostNamed)]) + " do not answer its questions"
}

func join(list []netip.Addr) string {
	var out []string
	for _, a := range list {
		out = append(out, a.String())
	}
	return strings.Join(out, ", ")
}

// deafWait is for how long a deaf Backup takes nothing after the last advertisement, however silent the link is.
const deafWait = 30 * time.Second

// undecided tells that this Backup has heard nothing since the first advertisement that it has missed, and has not found out yet whether it hears at all,
// or that it is deaf: what it would bind and announce would only take clients from the holder. Whoever hears another node, a router, or a question of a client
// is never undecided when its Active is down: the questions begin after one and a half intervals.
func (h *hearing) undecided() bool {
	m := h.m
	if m.cfg.Ears == nil || m.state != election.Backup {
		return false
	}
	s := m.router.Snapshot()
	active := m.heard.findPlain(s.Followed)
	if active == nil {
		return false
	}
	return h.Undecided(active.at.Add(s.ActiveAdverInterval)) || h.Cut(m.now, h.pace()) && m.now.Sub(active.at) < deafWait
}

// hearsNobody tells that nothing has arrived since the start, or that this node is an Active who has heard something a moment ago, and advertises as
// before: a member that yields to its claim, while it yields to that member's next advertisement, would leave the address to nobody.
func (h *hearing) hearsNobody() bool {
	return h.Unsure() || h.Last() && h.m.state == election.Active
}

// due is when judge has something to find out; zero for never.
func (h *hearing) due() time.Time {
	if h.m.cfg.Ears == nil {
		return time.Time{}
	}
	return h.Deadline(h.pace())
}
