package virtualrouter

import (
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

// rememberFor is for how long a member is shown of which nothing is heard.
const rememberFor = 24 * time.Hour

func without(list []members.Member, a netip.Addr) []members.Member {
	return slices.DeleteFunc(slices.Clone(list), func(m members.Member) bool { return m.Address == a })
}

func has(list []members.Member, a netip.Addr) bool {
	return slices.ContainsFunc(list, func(m members.Member) bool { return m.Address == a })
}

// noteSilent keeps who is heard, and who was: a line says so when one is lost, and when it is back.
func (x *handoverProtocol) noteSilent(now time.Time, list []members.Member) {
	for i := range x.list {
		if o := &x.list[i]; !has(list, o.Address) {
			x.m.say(slog.LevelWarn, "a member is silent", "member", o.Address.String(), "node", o.Peer.Node, "was", o.Peer.State.String())
			x.silent = append(x.silent, *o)
		}
	}
	x.noteChanged(list)
	x.list = list
	x.silent = slices.DeleteFunc(x.silent, func(o members.Member) bool {
		back := has(list, o.Address)
		if back {
			after := now.Sub(o.Heard).Round(time.Millisecond)
			x.m.say(slog.LevelInfo, "a member is heard again", "member", o.Address.String(), "node", o.Peer.Node, "after", after)
		}
		return back || now.Sub(o.Heard) > rememberFor
	})
	for len(x.silent) > maxMembers {
		i := members.Least(x.silent)
		x.silent = slices.Delete(x.silent, i, i+1)
	}
}

// silentNow tells that a member which was the holder is not believed any more: neither its advertisements nor its claim last.
func (x *handoverProtocol) silentNow(o *members.Member, advertises bool, now time.Time) bool {
	f := o.Peer
	n := x.m.cfg.Router.DownTimerAdverts
	if n == 0 {
		n = 3
	}
	return f.State == vrrp.Active && f.Claims && !advertises &&
		now.Sub(o.Heard) > time.Duration(n+1)*f.Router.Interval
}
