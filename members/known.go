package members

import (
	"slices"
	"time"

	"github.com/keepvip/keepvip/vrrp"
)

// known is what there is to know of this node, of the others, and of those that claim the address. It decides nothing.
type known struct {
	own       own
	table     table
	claimants claimants
}

// holder is the other node that holds the address, as far as is known; nil if there is none.
func (k *known) holder(now time.Time) *Member {
	return k.claimants.holder(now, k.table.list, k.own.bounds())
}

// nobodyFit counts only what is known: with no holder in sight there is nothing to wait for. And where nobody was fit
// before, nothing recovers: the first that is fit is waited for, as by kubeadm init.
func (k *known) nobodyFit(now time.Time) bool {
	return k.holder(now) != nil && !k.own.self.Fit && !k.table.anyFit() && (k.own.proven || k.table.anyProven())
}

// vouched tells whether a member other than o hears this node: what this node sends arrives, and o should hear it, too. Of two nodes, either may
// be the one that is broken.
func (k *known) vouched(o *Member) bool {
	return slices.ContainsFunc(k.table.list, func(p Member) bool {
		_, hears := p.says(k.own.cfg.Session)
		return hears && p.Address != o.Address
	})
}

// message is one as this node says it now.
func (k *known) message(t Type, d Transfer) Message {
	f := k.own.peerState()
	f.Hears = k.claimants.hears(k.table.list)
	if o := k.table.find(k.own.self.Unanswered); o != nil {
		f.Unanswered = o.Session
	}
	if o := k.table.find(k.own.self.Unreached); o != nil {
		f.Unreached, f.NeverReached = o.Session, k.own.self.NeverReached
	}
	return Message{Type: t, Session: k.own.cfg.Session, Peer: f, Transfer: d}
}

// goodbye is heard as the last word, whatever the state.
func (k *known) goodbye() Message {
	msg := k.message(Hello, Transfer{})
	msg.Peer.State, msg.Peer.Fit, msg.Peer.Claims, msg.Peer.Lifetime, msg.Peer.Spread = vrrp.Initialize, false, false, 0, nil
	return msg
}
