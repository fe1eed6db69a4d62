package virtualrouter

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/internal/code"
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

// wordOf is the newest word of a member, and whether there is one.
func (x *handoverProtocol) wordOf(a netip.Addr) (word, bool) {
	if x == nil || !a.IsValid() {
		return word{}, false
	}
	o := find(x.list, a)
	if o == nil || o.Peer.Fit || o.Peer.Reason == "" {
		back := o != nil || find(x.silent, a) != nil
		if o = find(x.gone, a); o == nil || x.m.now.Sub(o.Heard) > x.wordLasts(&o.Peer, back) {
			return word{}, false
		}
	}
	p := &o.Peer
	w := word{cmp.Or(p.Code, code.PassedOn), p.Reason, p.Lifetime <= 0}
	w.leaves = w.leaves || w.code == code.Handover || w.code == code.DrillHandover || w.code == code.Stopping
	return w, true
}

// wordLasts is for how long a last word explains what follows; back tells that its sender was heard since.
func (x *handoverProtocol) wordLasts(p *members.PeerState, back bool) time.Duration {
	if back || p.Lifetime > 0 {
		return wordIntervals * x.m.cfg.Router.Interval
	}
	return wordTime
}

// find is the member of that address; nil for none.
func find(list []members.Member, a netip.Addr) *members.Member {
	if i := slices.IndexFunc(list, func(o members.Member) bool { return o.Address == a.WithZone("") }); i >= 0 {
		return &list[i]
	}
	return nil
}

// keepWord keeps the last word of a member that says good-bye, or that it should not have the address.
func (x *handoverProtocol) keepWord(r members.Received) {
	source, now := r.Source.WithZone(""), x.m.now
	x.gone = slices.DeleteFunc(x.gone, func(o members.Member) bool { return o.Address == source || now.Sub(o.Heard) > wordTime })
	if len(x.gone) < maxMembers {
		x.gone = append(x.gone, members.Member{Address: source, Peer: r.Message.Peer, Heard: now})
	}
}

// nameOf is what a member calls itself, or has called itself; empty if it never said so.
func (x *handoverProtocol) nameOf(a netip.Addr) string {
	for _, list := range [][]members.Member{x.list, x.silent, x.gone} {
		if o := find(list, a); o != nil {
			return o.Peer.Node
		}
	}
	return ""
}

// priorityOf is what a member says that it advertises, or would.
func (x *handoverProtocol) priorityOf(a netip.Addr) (priority uint8, known bool) {
	if x == nil {
		return 0, false
	}
	o := find(x.list, a)
	if o == nil {
		return 0, false
	}
	return o.Peer.Priority, true
}
