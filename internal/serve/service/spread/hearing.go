package spread

import (
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/election"
)

// hearing is what this node can hear at all. A node that is cut off finds all others silent, and no host of these answers it, as if they had died.
type hearing struct {
	link     attachment
	attached time.Time  // since when it is
	now      []sighting // of all other members that the election knows, witnesses too
}

// attachment is one stay at a link.
type attachment struct {
	index int
	stay  uint32 // another one after the carrier was gone
}

// sighting is when a member was heard last.
type sighting struct {
	by   netip.Addr    // by which the election knows it
	last time.Time     //
	gap  time.Duration // for which one that lives may be unheard
}

// attach notes at which link this node is.
func (h *hearing) attach(now time.Time, to attachment) {
	if h.link != to {
		h.link, h.attached = to, now
	}
}

// listen takes in when the election has heard the members.
func (r *roster) listen(list []election.Member) {
	r.now = r.now[:0]
	for i := range list {
		if o := &list[i]; !o.Self {
			var said member
			if o.Spread != nil {
				said.spread.Every = o.Spread.Every
			}
			r.now = append(r.now, sighting{o.Address.WithZone(""), o.LastHeard, r.suspicion(&said)})
		}
	}
}

// sure tells whether a member that counts as dead is, while this node can be the one that is cut off. It is once any other member was heard when the
// dead one was overdue. Where others fell silent at the same moment, and none was heard since, this node more likely has lost its network. With nobody else
// there it goes by its own link alone: a member that was last heard before the carrier went may live.
func (r *roster) sure(m *member) bool {
	alone := true
	for _, o := range r.sightings() {
		switch {
		case o.by == m.by || o.by == m.address:
		case !o.last.Before(m.last.Add(r.suspicion(m))):
			return true
		case !o.last.Before(m.last.Add(-o.gap)):
			alone = false
		}
	}
	return alone && !m.last.Before(r.attached)
}

// sightings are those of now, and those of members that the election has forgotten.
func (r *roster) sightings() []sighting {
	out := r.now
	for _, o := range r.all {
		if o.heard {
			out = append(out, sighting{o.by, o.last, r.suspicion(o)})
		}
	}
	return out
}
