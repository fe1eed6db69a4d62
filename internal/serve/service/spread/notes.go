package spread

import (
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/members/slots"
)

// notes are the lines of the log about what others can bring about: so many of each kind in a minute, or only what is new. They belong to the service's
// goroutine.
type notes struct {
	log     *slog.Logger
	lines   election.Lines
	leftOut []row     // members that the tables have no room for
	doubted time.Time // the drain for which it was said that a follower invents connections
}

// unasked notes that this node could not ask a host whether it is there.
func (n *notes) unasked(now time.Time, of netip.Addr, err error) {
	const text = "the host of a silent member cannot be asked whether it is there: it counts as alive"
	if left, ok := n.lines.May(now, text, mostLines); ok {
		n.log.Warn(text, election.LeftOut([]any{"member", of, "error", err}, left)...)
	}
}

// reached says that a service is not reached any more, or again.
func (n *notes) reached(now time.Time, at netip.AddrPort, why string) {
	text := "a service is reached again"
	if why != "" {
		text = "a service is not reached from here: it gets no new connections while another one is"
	}
	left, ok := n.lines.May(now, text, mostLines)
	switch {
	case !ok:
	case why == "":
		n.log.Info(text, election.LeftOut([]any{"service", at}, left)...)
	default:
		n.log.Warn(text, election.LeftOut([]any{"code", string(code.NotReached), "service", at, "reason", why}, left)...)
	}
}

// newcomers says which members are new, where nothing proves that they are members.
func (n *notes) newcomers(now time.Time, fresh []*member) {
	const text = "a member is new, and neither a key nor spread.members says that it is one"
	for _, m := range fresh {
		if left, ok := n.lines.May(now, text, mostLines); ok {
			n.log.Warn(text, election.LeftOut([]any{
				"code", string(code.NewMember), "member", m.address, "node", m.node, "mac", macOf(m.spread.MAC), "weight", m.spread.Weight,
				"remedy", code.NewMember.Entry().Remedy,
			}, left)...)
		}
	}
}

// noRoom says which members the tables have no room for.
func (n *notes) noRoom(now time.Time, rows []row) {
	rows = slices.DeleteFunc(rows, func(r row) bool { return r.Condition == slots.Dead })
	const text = "connections are not spread over all members: some get none"
	more := len(rows) > len(n.leftOut)
	if n.leftOut = rows; !more {
		return
	}
	if left, ok := n.lines.May(now, text, mostLines); ok {
		var addresses []string
		for _, r := range rows {
			addresses = append(addresses, r.Address.String())
		}
		n.log.Warn(text, election.LeftOut([]any{"members", addresses, "most", slots.Most}, left)...)
	}
}

// doubt says who has invented connections, once for each drain.
func (n *notes) doubt(since time.Time, doubted []netip.Addr) {
	if len(doubted) == 0 || n.doubted.Equal(since) {
		return
	}
	n.doubted = since
	n.log.Warn("followers say that they have connections to this node, and none comes from them: they are not waited for", "followers", doubted[:min(len(doubted), 5)],
		"code", string(code.FollowersCount), "remedy", code.FollowersCount.Entry().Remedy)
}
