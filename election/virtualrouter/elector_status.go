package virtualrouter

import (
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/members"
)

// Status implements Elector.
func (e *Elector) Status() election.Status {
	rejections, now := e.wire.Rejections(), time.Now()
	e.mu.Lock()
	s := e.machine.status(now)
	e.mu.Unlock()
	s.TimerLag = e.timer.late(now)
	s.Detector = e.detector(&s)
	e.out.addUnsent(&s)
	addLifelines(e.cfg.Held, s.Members)
	s.Counters.Rejected, s.Rejected = rejections.Counts(), append(rejections.List(), e.in.refused.List()...)
	s.Counters.MembersRejected = e.in.membersRejected()
	nameOwn(s.Rejected, s.Members)
	for i := range s.Splits {
		e.in.explain(&s.Splits[i])
	}
	return s
}

// nameOwn says of those that advertise other addresses with this VRID which of them are members of this election, or were: a change of the
// addresses that goes from node to node is no other cluster.
func nameOwn(list []election.Rejection, all []election.Member) {
	for i := range list {
		r := &list[i]
		own := slices.ContainsFunc(all, func(m election.Member) bool { return !m.Self && m.Address.WithZone("") == r.Source.WithZone("") })
		if own && r.Code == code.ForeignVRID {
			r.Code, r.Text, r.Remedy = code.AddressesVary, "it is a member, and advertises other addresses than this node has", code.AddressesVary.Entry().Remedy
		}
	}
}

// addLifelines shows whose end is heard in the moment in which it comes.
func addLifelines(held func() []netip.Addr, list []election.Member) {
	if held == nil {
		return
	}
	those := held()
	for i := range list {
		list[i].Lifeline = slices.Contains(those, list[i].Address.WithZone(""))
	}
}

func (e *Elector) logSplit(s split) {
	e.in.explain(&s.Split)
	e.log.Error("SPLIT: a member holds the address, and its advertisements do not arrive", election.LeftOut([]any{
		"member", s.Address.String(), "node", s.Node, "both", s.Both, "cause", s.Cause, "remedy", s.Remedy,
	}, s.left)...)
}

// blame looks, for a decision to take the address because nobody is heard, whether somebody was heard and refused: with another key there are
// two holders.
func (e *Elector) blame(d election.Decision) election.Decision {
	if d.Role != election.Serve || d.Code != code.HolderSilent && d.Code != code.NobodyHeld {
		return d
	}
	r, ok := e.wire.Rejections().Since(time.Now().Add(-4*e.cfg.Router.Interval), d.From.Address)
	what := "its advertisements are refused: "
	if !ok {
		r, ok = e.in.refused.Since(time.Now().Add(-max(4*e.cfg.Router.Interval, 2*members.DefaultEvery)), d.From.Address)
		ok = ok && (r.Code == code.NotAPeer || r.Code == code.BehindRouter) // its advertisements are, for the same reason
		what = "what it says is refused: "
	}
	if !ok || r.Code == code.ForeignVRID {
		return d
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	d.Code, d.From = r.Code, e.machine.facts().node(r.Source)
	d.Cause = d.From.Called() + ": " + what + r.Text
	e.machine.code = d.Code
	return d
}
