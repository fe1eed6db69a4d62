package virtualrouter

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/code"
	"github.com/keepvip/keepvip/vrrp"
)

// why is what is told of a change, and nobody acts on: see election.Decision.
type why struct {
	code     code.Code
	cause    string // "n1: uid 0 asked for a handover"; empty where nobody has said anything, or nothing was seen
	from, to election.Node
	away     time.Duration
}

// former is who had the address last while nobody is known to have it, why it has lost it, and when it was there for certain.
type former struct {
	why
	at time.Time
}

// decide fills in what is told of a decision.
func (w why) decide(d election.Decision) election.Decision {
	d.Code, d.Cause, d.From, d.To, d.Away = w.code, w.cause, w.from, w.to, w.away
	if askedCode(w.code) && w.from.Address.IsValid() {
		d.AskedBy = "uid 0 on " + named(w.from)
	}
	return d
}

// askedCode tells a cause that an operator has asked for, who has to be root and on the node that gives the address away.
func askedCode(c code.Code) bool {
	switch c {
	case code.Handover, code.Held, code.Drained, code.DrillHandover, code.DrillCheck:
		return true
	}
	return false
}

func named(n election.Node) string {
	if n.Name != "" {
		return n.Name
	}
	return n.Address.String()
}

// why is that of a change of state. before is who was known as the holder until now.
func (m *machine) why(from, to election.State, reason vrrp.Reason, before netip.Addr) why {
	switch {
	case to == election.Active:
		return m.taking(reason, before)
	case from == election.Active:
		w := m.giving(reason)
		w.from, w.to = m.self(), m.node(m.holderIn(to))
		if !w.to.Address.IsValid() {
			m.former = former{w, m.now}
		}
		return w
	}
	w := why{code: code.Started}
	if reason != vrrp.ReasonStarted {
		w = m.giving(reason)
	}
	w.from = m.node(m.holderIn(to))
	w.to = w.from
	return w
}

// giving is why this node gives the address, or its part in the election, up.
func (m *machine) giving(reason vrrp.Reason) why {
	switch reason {
	case vrrp.ReasonFrozen:
		return why{code: code.StoodStill}
	case vrrp.ReasonSplit:
		return why{code: code.Split}
	case vrrp.ReasonHigherAddress:
		return m.own(code.HigherAddress)
	case vrrp.ReasonHigherPriority, vrrp.ReasonPassedOn:
		return m.own(code.HigherPriority)
	}
	if m.stopping {
		return why{code: m.stop.Code, cause: named(m.self()) + ": " + m.stop.Reason}
	}
	if m.out {
		return m.own(code.BindRefused)
	}
	return m.own(code.Group)
}

// own is what this node says of itself, or else that code.
func (m *machine) own(otherwise code.Code) why {
	if m.effective.Reason == "" {
		return why{code: otherwise}
	}
	c := m.effective.Code
	if c == "" || c == code.CheckWeight {
		c = otherwise
	}
	return why{code: c, cause: named(m.self()) + ": " + m.effective.Reason}
}

// taking is why this node becomes the holder.
func (m *machine) taking(reason vrrp.Reason, before netip.Addr) why {
	w := m.lost(before, m.source)
	switch reason {
	case vrrp.ReasonOwner:
		w.code, w.cause, w.away = code.AddressOwner, "", 0
	case vrrp.ReasonGranted:
		w.away = 0
		if w.code == code.HolderSilent || w.code == code.NobodyHeld {
			w.code, w.cause = code.PassedOn, ""
		}
	case vrrp.ReasonSilence:
		if w.code == code.PassedOn || w.code == code.HigherPriority || w.code == code.HigherAddress {
			w.code, w.cause = code.HolderSilent, "" // nothing but its messages was heard
		}
	}
	w.to = m.self()
	return w
}

// following is why another node, or nobody, is the holder for this one, which holds nothing.
func (m *machine) following(before, holder netip.Addr) why {
	w := m.lost(before, holder)
	if w.code == code.NobodyHeld {
		w.code = code.HolderHeard
	}
	w.to = m.node(holder)
	if !holder.IsValid() {
		at := m.now
		if h := m.heard.find(before); h != nil {
			at = h.at
		}
		m.former = former{w, at}
		w.away = 0
	}
	return w
}

// lost is why the holder has lost the address to next, which may be nobody, as it said itself or as it looks from here.
func (m *machine) lost(holder, next netip.Addr) why {
	if holder.IsValid() && holder != m.source {
		return m.lostBy(holder, next)
	}
	last := m.former
	switch {
	case last.from.Address == (netip.Addr{}):
		return why{code: code.NobodyHeld}
	case last.from.Address == next && next != m.source:
		return why{code: code.HolderHeard, from: last.from, away: m.now.Sub(last.at)}
	}
	if _, said := m.roster.wordOf(last.from.Address, m.now, m.cfg.Router.Interval); said { // its last word may have come after its last advertisement
		if w := m.lostBy(last.from.Address, next); w.code != code.HolderSilent {
			last.why = w
		}
	}
	last.away = m.now.Sub(last.at)
	return last.why
}

func (m *machine) lostBy(holder, next netip.Addr) why {
	w, h := why{from: m.node(holder)}, m.heard.find(holder)
	word, said := m.roster.wordOf(holder, m.now, m.cfg.Router.Interval)
	silent := time.Duration(0)
	if h != nil {
		silent = max(m.began(next).Sub(h.at), 0)
	}
	missed := h != nil && !h.resigned && silent > m.missed()
	if missed || h != nil && h.resigned {
		w.away = silent
	}
	name := named(w.from)
	priority, known := m.priorityOf(holder)
	better, _ := m.priorityOf(next)
	switch {
	case said && (word.leaves || !missed):
		w.code, w.cause = word.code, name+": "+word.text
	case h != nil && h.resigned:
		w.code, w.cause = code.HolderResigned, name+": gave up (priority 0)"
	case missed || !known || !next.IsValid():
		w.code = code.HolderSilent
		if h != nil {
			w.cause = fmt.Sprintf("%s: silent for %d ms", name, silent.Milliseconds())
		}
		if said {
			w.cause += "; before that: " + word.text
		}
	case better > priority:
		w.code, w.cause = code.HigherPriority, fmt.Sprintf("%s: priority %d, against %d", name, priority, better)
	case better == priority && holder.Less(next):
		w.code = code.HigherAddress
	default:
		w.code = code.PassedOn
	}
	return w
}

// began is since when next is there: another one was heard first then.
func (m *machine) began(next netip.Addr) time.Time {
	if h := m.heard.find(next); h != nil && next != m.source {
		return h.since
	}
	return m.now
}

// missed is a silence in which an advertisement of the Active has not come, and not only is late.
func (m *machine) missed() time.Duration {
	interval := m.router.Snapshot().ActiveAdverInterval
	return interval + interval/2
}

// priorityOf is what a node advertises, or would, as far as that is known.
func (m *machine) priorityOf(a netip.Addr) (priority uint8, known bool) {
	if a == m.source {
		return m.router.Snapshot().Priority, true
	}
	if h := m.heard.find(a); h != nil {
		return h.priority, true
	}
	return m.roster.priorityOf(a)
}

func (m *machine) self() election.Node { return m.node(m.source) }

// node is the node of that address, with its name where it has said it.
func (m *machine) node(a netip.Addr) election.Node {
	n := election.Node{Address: a.WithZone("")}
	if m.x == nil || !a.IsValid() {
		return n
	}
	if a == m.source {
		n.Name = m.x.cfg.Node
		return n
	}
	n.Name = m.roster.nameOf(n.Address)
	return n
}
