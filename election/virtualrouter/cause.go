package virtualrouter

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/vrrp"
)

// why is what is told of a change, and nobody acts on: see election.Decision.
type why struct {
	code     code.Code
	cause    string // "n1: uid 0 asked for a handover"; empty where nobody has said anything, or nothing was seen
	from, to election.Node
	by       election.Node // the node on which an operator has asked for it, where that is not from
	away     time.Duration
}

// facts is what a node knows when the holder changes, or is about to.
type facts struct {
	now            time.Time
	source         netip.Addr // own address
	name           string     // of this node; empty in plain VRRP, where nodes have none
	priority       uint8      // of this node
	interval       time.Duration
	activeInterval time.Duration // of the Active
	fitness        election.Fitness
	kept           election.Fitness // what kept this node out until now; the zero Fitness: nothing did
	stop           *stop            // nil: this node does not stop
	heard          *senders
	roster         *roster
}

// former is who had the address last while nobody is known to have it, why it has lost it, and when it was there for certain.
type former struct {
	why
	at time.Time
}

// turn is a change of this node's state.
type turn struct {
	from, to      election.State
	reason        vrrp.Reason
	before, after netip.Addr // who is known as the holder, until now and from now on
}

// decide fills in what is told of a decision.
func (w why) decide(d election.Decision) election.Decision {
	d.Code, d.Cause, d.From, d.To, d.Away = w.code, w.cause, w.from, w.to, w.away
	by := w.by
	if !by.Address.IsValid() {
		by = w.from
	}
	if askedCode(w.code) && by.Address.IsValid() {
		d.AskedBy = "uid 0 on " + by.Called()
	}
	return d
}

// askedCode tells a cause that an operator has asked for, who has to be root and on the node that gives the address away.
func askedCode(c code.Code) bool {
	switch c {
	case code.Handover, code.Held, code.Drained, code.Resumed, code.DrillHandover, code.DrillCheck:
		return true
	}
	return false
}

// returning is the code, and the clause, of a node that takes part again after that has kept it out.
func returning(kept election.Fitness) (code.Code, string) {
	if kept.Code == code.Held {
		return code.Resumed, "resumed by an operator"
	}
	return code.Returned, "takes part again; it was out because " + kept.Reason
}

// explain is why this node's state changes.
func (f *former) explain(k facts, t turn) why {
	switch {
	case t.to == election.Active:
		return f.taking(k, t.reason, t.before)
	case t.from == election.Active:
		w := k.giving(t.reason)
		w.from, w.to = k.self(), k.node(t.after)
		if !w.to.Address.IsValid() {
			*f = former{w, k.now}
		}
		return w
	}
	w := why{code: code.Started}
	switch {
	case t.reason != vrrp.ReasonStarted:
		w = k.giving(t.reason)
	case k.kept.Out:
		w.code, _ = returning(k.kept)
	}
	w.from, w.by = k.node(t.after), k.self()
	w.to = w.from
	return w
}

// giving is why this node gives the address, or its part in the election, up.
func (k facts) giving(reason vrrp.Reason) why {
	switch reason {
	case vrrp.ReasonFrozen:
		return why{code: code.StoodStill}
	case vrrp.ReasonSplit:
		return why{code: code.Split}
	case vrrp.ReasonHigherAddress:
		return k.own(code.HigherAddress)
	case vrrp.ReasonHigherPriority, vrrp.ReasonPassedOn:
		return k.own(code.HigherPriority)
	}
	if k.stop != nil {
		return why{code: k.stop.Code, cause: k.self().Called() + ": " + k.stop.Reason}
	}
	if k.fitness.Out {
		return k.own(code.BindRefused)
	}
	return k.own(code.Group)
}

// own is what this node says of itself, or else that code.
func (k facts) own(otherwise code.Code) why {
	if k.fitness.Reason == "" {
		return why{code: otherwise}
	}
	c := k.fitness.Code
	if c == "" || c == code.CheckWeight {
		c = otherwise
	}
	return why{code: c, cause: k.self().Called() + ": " + k.fitness.Reason}
}

// taking is why this node becomes the holder.
func (f *former) taking(k facts, reason vrrp.Reason, before netip.Addr) why {
	w := f.lost(k, before, k.source)
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
	w.to = k.self()
	return w
}

// following is why another node, or nobody, is the holder for this one, which holds nothing.
func (f *former) following(k facts, before, holder netip.Addr) why {
	w := f.lost(k, before, holder)
	if w.code == code.NobodyHeld {
		w.code = code.HolderHeard
	}
	w.to = k.node(holder)
	if !holder.IsValid() {
		at := k.now
		if h := k.heard.find(before); h != nil {
			at = h.at
		}
		*f = former{w, at}
		w.away = 0
	}
	return w
}

// lost is why the holder has lost the address to next, which may be nobody, as it said itself or as it looks from here.
func (f *former) lost(k facts, holder, next netip.Addr) why {
	if holder.IsValid() && holder != k.source {
		return k.lostBy(holder, next)
	}
	last := *f
	switch {
	case last.from.Address == (netip.Addr{}):
		return why{code: code.NobodyHeld}
	case last.from.Address == next && next != k.source:
		return why{code: code.HolderHeard, from: last.from, away: k.now.Sub(last.at)}
	}
	if _, said := k.wordOf(last.from.Address); said { // its last word may have come after its last advertisement
		if w := k.lostBy(last.from.Address, next); w.code != code.HolderSilent {
			last.why = w
		}
	}
	last.away = k.now.Sub(last.at)
	return last.why
}

func (k facts) lostBy(holder, next netip.Addr) why {
	w, h := why{from: k.node(holder)}, k.heard.find(holder)
	word, said := k.wordOf(holder)
	silent := time.Duration(0)
	if h != nil {
		silent = max(k.began(next).Sub(h.at), 0)
	}
	missed := h != nil && !h.resigned && silent > k.missed()
	if missed || h != nil && h.resigned {
		w.away = silent
	}
	name := w.from.Called()
	priority, known := k.priorityOf(holder)
	better, _ := k.priorityOf(next)
	switch {
	case said && (word.leaves || !missed):
		w.code, w.cause = word.code, name+": "+word.text
	case h != nil && h.fall.code != "":
		w.code, w.cause, w.away = h.fall.code, name+": "+h.fall.how, silent
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

func (k facts) wordOf(a netip.Addr) (word, bool) { return k.roster.wordOf(a, k.now, k.interval) }

// began is since when next is there: another one was heard first then.
func (k facts) began(next netip.Addr) time.Time {
	if h := k.heard.find(next); h != nil && next != k.source {
		return h.since
	}
	return k.now
}

// missed is a silence in which an advertisement of the Active has not come, and not only is late.
func (k facts) missed() time.Duration { return k.activeInterval + k.activeInterval/2 }

// priorityOf is what a node advertises, or would, as far as that is known.
func (k facts) priorityOf(a netip.Addr) (priority uint8, known bool) {
	if a == k.source {
		return k.priority, true
	}
	if h := k.heard.find(a); h != nil {
		return h.priority, true
	}
	return k.roster.priorityOf(a)
}

func (k facts) self() election.Node { return k.node(k.source) }

// node is the node of that address, with its name where it has said it.
func (k facts) node(a netip.Addr) election.Node {
	n := election.Node{Address: a.WithZone("")}
	switch {
	case !a.IsValid():
	case a == k.source:
		n.Name = k.name
	default:
		n.Name = k.roster.nameOf(n.Address)
	}
	return n
}
