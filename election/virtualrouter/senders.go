package virtualrouter

import (
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

// maxMembers bounds what a flood of invented sources can make this node remember.
const maxMembers = 64

// countsFor is for how long a sender counts of which nothing more is heard. A Backup of keepalived is silent by nature,
// and nobody can tell it from a router that is gone for good: so a sender counts for long. A node that forgets such a
// Backup knows as little as one that has just started. It may take over before that Backup, and yields to a higher
// priority as ever. A member is remembered for longer, although its last advertisement may come after its last message:
// otherwise it would be a stranger in between.
const countsFor = rememberFor - time.Hour

// senders remembers the senders of advertisements. It belongs to one goroutine.
type senders struct {
	list []heard
}

type heard struct {
	source   netip.Addr
	priority uint8         // the last one that was not 0
	resigned bool          // it is not Active: its last advertisement had priority 0, or it has said so since
	down     time.Duration // after this silence the sender is not Active any more
	at       time.Time
	since    time.Time // when the stretch of advertisements began that is heard now
	fall     fall      // how it was found to be dead; zero: it has advertised since
	note     string    // what is odd about its advertisements
	remarked time.Time // when that was logged
}

// remark keeps what is odd about a member, and tells whether that is worth a line: at most one in a while.
func (m *senders) remark(source netip.Addr, note string, at time.Time) bool {
	i := slices.IndexFunc(m.list, func(h heard) bool { return h.source == source })
	if i < 0 || m.list[i].note == note {
		return false
	}
	h := &m.list[i]
	h.note = note
	if note == "" || !h.remarked.IsZero() && at.Sub(h.remarked) < election.LogEvery {
		return false
	}
	h.remarked = at
	return true
}

// hear notes an advertisement. With the list full, one that is silent makes room, or else the one that ranks lowest: whoever invents
// routers of a low priority must not make the Active be forgotten.
func (m *senders) hear(source netip.Addr, priority uint8, down time.Duration, at time.Time) {
	i := slices.IndexFunc(m.list, func(h heard) bool { return h.source == source })
	switch {
	case i >= 0:
	case len(m.list) < maxMembers:
		m.list = append(m.list, heard{source: source})
		i = len(m.list) - 1
	default:
		i = m.least(at)
		m.list[i] = heard{source: source}
	}
	h := &m.list[i]
	if !h.active(at) {
		h.since = at
	}
	h.resigned, h.down, h.at = priority == 0, down, at
	if at.After(h.fall.at) {
		h.fall = fall{}
	}
	if priority != 0 {
		h.priority = priority
	}
}

// fall is how a sender was found to be dead; the zero fall is not at all.
type fall struct {
	at   time.Time
	code code.Code
	how  string // "no beat for 41 ms, 10 echoes unanswered, n3 agreed"
}

// fell notes how a sender was found to be dead. That its process has ended is certain, and what is found of its node follows from that. An
// advertisement takes the note back where it is from after all that was found.
func (m *senders) fell(source netip.Addr, f fall) {
	h := m.findPlain(source)
	if h == nil {
		return
	}
	if h.fall.at.After(f.at) {
		f.at = h.fall.at
	}
	if h.fall.code == code.ProcessEnded && f.code != code.ProcessEnded {
		h.fall.at = f.at
		return
	}
	h.fall = f
}

// disclaim notes what a member has said at a time: that it does not hold the address. That counts if another node has advertised since its own
// last advertisement: of what a starting Active says before that and after it, either may be read first.
func (m *senders) disclaim(source netip.Addr, at time.Time) {
	i := slices.IndexFunc(m.list, func(h heard) bool { return h.source.WithZone("") == source })
	if i < 0 || !m.list[i].active(at) || at.Before(m.list[i].at) {
		return
	}
	h := &m.list[i]
	h.resigned = slices.ContainsFunc(m.list, func(o heard) bool { return o.active(at) && o.at.After(h.at) })
}

// find is what was heard of a; nil if nothing was.
func (m *senders) find(a netip.Addr) *heard {
	if i := slices.IndexFunc(m.list, func(h heard) bool { return h.source == a }); i >= 0 {
		return &m.list[i]
	}
	return nil
}

// findPlain is find for an address without a zone.
func (m *senders) findPlain(a netip.Addr) *heard {
	if i := slices.IndexFunc(m.list, func(h heard) bool { return h.source.WithZone("") == a }); i >= 0 {
		return &m.list[i]
	}
	return nil
}

// age drops the senders that do not count any more, and tells whether there were any.
func (m *senders) age(now time.Time) bool {
	before := len(m.list)
	m.list = slices.DeleteFunc(m.list, func(h heard) bool { return now.Sub(h.at) > countsFor })
	return len(m.list) < before
}

// forget drops a sender that has left.
func (m *senders) forget(source netip.Addr) {
	m.list = slices.DeleteFunc(m.list, func(h heard) bool { return h.source.WithZone("") == source })
}

// least is who is missed least: the one that was silent longest, or, with all active, the one that ranks lowest.
func (m *senders) least(now time.Time) int {
	least := 0
	for i := range m.list {
		h, o := &m.list[i], &m.list[least]
		switch active := o.active(now); {
		case h.active(now) != active:
			if active {
				least = i
			}
		case active && o.beats(h), !active && h.at.Before(o.at):
			least = i
		}
	}
	return least
}

// holder is the best of those whose advertisements still arrive: the highest priority, then the
// greatest address (RFC 9568, section 6.4.3).
func (m *senders) holder(now time.Time) netip.Addr {
	var best *heard
	for i := range m.list {
		h := &m.list[i]
		if h.active(now) && (best == nil || h.beats(best)) {
			best = h
		}
	}
	if best == nil {
		return netip.Addr{}
	}
	return best.source
}

// silentAt is when a will count as silent if nothing more is heard of it.
func (m *senders) silentAt(a netip.Addr) (time.Time, bool) {
	for i := range m.list {
		if h := &m.list[i]; h.source == a {
			return h.at.Add(h.down), true
		}
	}
	return time.Time{}, false
}

// idleUntil is when a node that takes no part has to look again whether the holder is still heard.
func (m *senders) idleUntil(now time.Time, holder netip.Addr) time.Time {
	if at, ok := m.silentAt(holder); ok && at.After(now) {
		return at
	}
	return now.Add(time.Hour)
}

func (h *heard) active(now time.Time) bool {
	return !h.resigned && now.Sub(h.at) < h.down
}

func (h *heard) beats(o *heard) bool {
	if h.priority != o.priority {
		return h.priority > o.priority
	}
	return o.source.Less(h.source)
}

// report appends the members as of now, by address, to dst.
func (m *senders) report(dst []election.Member, now time.Time) []election.Member {
	out := dst
	for i := range m.list {
		h := &m.list[i]
		r := election.Member{Address: h.source, Priority: h.priority, State: election.Backup, LastHeard: h.at, Note: h.note}
		if r.Unheard = !h.active(now); !r.Unheard {
			r.State = election.Active
		}
		out = append(out, r)
	}
	sortByAddress(out)
	return out
}
