package virtualrouter

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/members"
)

// wordTime is for how long the last word of a member that has left explains what follows.
const wordTime = time.Minute

// wordIntervals is for how many intervals of advertisements the word of one explains it that has taken it back, or was heard since.
const wordIntervals = 10

// word is what a member says about why it should not have the address.
type word struct {
	code   code.Code
	text   string
	leaves bool // it gives the address away, whatever comes
}

// wordOf is the newest word of a member, and whether there is one. Advertisements come once in an interval.
func (r *roster) wordOf(a netip.Addr, now time.Time, interval time.Duration) (word, bool) {
	if !a.IsValid() {
		return word{}, false
	}
	o := members.Find(r.list, a)
	if o == nil || o.Peer.Fit || o.Peer.Reason == "" {
		back := o != nil || members.Find(r.silent, a) != nil
		if o = members.Find(r.gone, a); o == nil || now.Sub(o.Heard) > wordLasts(&o.Peer, back, interval) {
			return word{}, false
		}
	}
	p := &o.Peer
	w := word{cmp.Or(p.Code, code.PassedOn), p.Reason, p.Lifetime <= 0}
	w.leaves = w.leaves || w.code == code.Handover || w.code == code.DrillHandover || w.code == code.Stopping
	return w, true
}

// wordLasts is for how long a last word explains what follows; back tells that its sender was heard since.
func wordLasts(p *members.PeerState, back bool, interval time.Duration) time.Duration {
	if back || p.Lifetime > 0 {
		return wordIntervals * interval
	}
	return wordTime
}

// keepWord keeps the last word of a member that says good-bye, or that it should not have the address.
func (r *roster) keepWord(now time.Time, said members.Received) {
	source := said.Source.WithZone("")
	r.gone = slices.DeleteFunc(r.gone, func(o members.Member) bool { return o.Address == source || now.Sub(o.Heard) > wordTime })
	if len(r.gone) < maxMembers {
		r.gone = append(r.gone, members.Member{Address: source, Peer: said.Message.Peer, Heard: now})
	}
}

// nameOf is what a member calls itself, or has called itself; empty if it never said so.
func (r *roster) nameOf(a netip.Addr) string {
	for _, list := range [][]members.Member{r.list, r.silent, r.gone} {
		if o := members.Find(list, a); o != nil {
			return o.Peer.Node
		}
	}
	return ""
}

// priorityOf is what a member says that it advertises, or would.
func (r *roster) priorityOf(a netip.Addr) (priority uint8, known bool) {
	o := members.Find(r.list, a)
	if o == nil {
		return 0, false
	}
	return o.Peer.Priority, true
}
