package election

import (
	"net/netip"
	"slices"
	"time"

	membership "github.com/keepvip/keepvip/members"
)

// rememberFor is for how long a member is shown of which nothing is heard.
const rememberFor = 24 * time.Hour

// greet looks at a message before the machine does: one that was refused is counted, and whoever says good-bye is missed by
// nobody.
func (x *handoverProtocol) greet(r membership.Received) {
	source := r.Source.WithZone("")
	switch {
	case r.Refused != "":
		x.refused.Add(r.Source, string(r.Refused), nil)
	case r.Message.Peer.Lifetime <= 0 && r.Message.Peer.Group == x.cfg.Machine.Group:
		x.mu.Lock()
		x.list = without(x.list, source)
		x.silent = without(x.silent, source)
		x.mu.Unlock()
		x.e.members.forget(source)
	}
}

// forget misses nobody any more: the group has another name, and who is in it will say so.
func (x *handoverProtocol) forget() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.list, x.silent = nil, nil
}

func without(list []membership.Member, a netip.Addr) []membership.Member {
	return slices.DeleteFunc(slices.Clone(list), func(m membership.Member) bool { return m.Address == a })
}

func has(list []membership.Member, a netip.Addr) bool {
	return slices.ContainsFunc(list, func(m membership.Member) bool { return m.Address == a })
}

// noteSilent keeps who is heard, and who was: a line says so when one is lost, and when it is back.
func (x *handoverProtocol) noteSilent(now time.Time, list []membership.Member) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range x.list {
		if m := &x.list[i]; !has(list, m.Address) {
			x.e.log.Warn("a member is silent", "member", m.Address.String(), "node", m.Peer.Node, "was", m.Peer.State.String())
			x.silent = append(x.silent, *m)
		}
	}
	x.list = list
	x.silent = slices.DeleteFunc(x.silent, func(m membership.Member) bool {
		back := has(list, m.Address)
		if back {
			x.e.log.Info("a member is heard again", "member", m.Address.String(), "node", m.Peer.Node, "after", now.Sub(m.Heard).Round(time.Millisecond))
		}
		return back || now.Sub(m.Heard) > rememberFor
	})
	if over := len(x.silent) - maxMembers; over > 0 {
		x.silent = slices.Delete(x.silent, 0, over)
	}
}

// silentNow tells that a member which was the holder is not believed any more: neither its advertisements nor its claim last.
func (e *VRRP) silentNow(m *membership.Member, advertises bool, now time.Time) bool {
	f := m.Peer
	n := e.cfg.Router.DownTimerAdverts
	if n == 0 {
		n = 3
	}
	return f.State == membership.Active && f.Claims && !advertises &&
		now.Sub(m.Heard) > time.Duration(n+1)*f.Router.Interval
}
