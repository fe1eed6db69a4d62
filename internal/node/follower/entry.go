package follower

import (
	"log/slog"
	"net/netip"
	"reflect"
	"slices"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/kernel/intercept"
	"github.com/keepvip/keepvip/internal/serve/localproxy"
	"github.com/keepvip/keepvip/members/slots"
	"github.com/keepvip/keepvip/members/subscription"
)

const (
	// lifetime is how long the kernel goes on alone. After that connections go to the virtual address on the wire.
	lifetime = 6 * time.Second
	// renewEvery is well within it.
	renewEvery = 1500 * time.Millisecond
	// retryAfter is how long is waited after the kernel has refused something, and endTries how often ending connections is tried.
	retryAfter = time.Second
	endTries   = 3
	// firstWait is how long what an earlier run has left goes on, until a member says something.
	firstWait = 500 * time.Millisecond
)

// entry is one entry at work. Only the goroutine of Run uses it.
type entry struct {
	Entry
	machine *subscription.Machine
	log     *slog.Logger
	known   []netip.Addr // of the last run, until a member says something
	begun   time.Time
	host    Host
	plane   plane               // nil: none yet
	proxy   localproxy.Listener // nil: none

	states    []subscription.Member
	told      bool
	said      bool // told, as the log has it
	shares    [][]Share
	targets   []intercept.Target // as applied; nil: nothing yet
	unsure    bool
	renewed   time.Time
	again     time.Time           // after a failure: not before
	proxied   []intercept.Backend // as applied; nil: nothing yet
	leaving   leaving
	dead      []netip.Addr // connections to them were ended
	ended     int          // how many connections that were
	endFailed int          // how often ending connections has failed
	endAgain  time.Time    // after a failure: not before
	problem   string
}

// group is what members call it.
func (e *entry) group() netip.Addr { return e.Addresses[0] }

// services are what probes look at: all that a member may be of use for.
func (e *entry) services() (out []netip.AddrPort) {
	add := func(addresses ...netip.Addr) {
		for _, a := range own(e.Addresses, addresses...) {
			for _, p := range e.Ports {
				if to := netip.AddrPortFrom(a, p.Target); p.TCP() && !slices.Contains(out, to) {
					out = append(out, to)
				}
			}
		}
	}
	for _, s := range e.states {
		if on := func(p subscription.Port) bool { return p.Condition == slots.Fit }; !e.told || slices.ContainsFunc(s.Ports, on) {
			add(s.Address, s.Other)
		}
	}
	if !e.told {
		for _, a := range e.others() {
			add(a)
		}
	}
	return out
}

// others are own addresses that may be members'.
func (e *entry) others() []netip.Addr { return slices.Concat(e.Servers, e.known) }

// step has the kernel follow what is known at now.
func (e *entry) step(now time.Time, probe func(netip.AddrPort) verdict) {
	e.states, e.told = e.machine.Picture(now)
	if e.told {
		e.known = nil // the members have said since who they are
	}
	e.note(now)
	e.shares = nil
	var targets []intercept.Target
	for _, p := range e.Ports {
		list := e.choose(p, e.states, e.told, e.others(), probe)
		e.shares = append(e.shares, list)
		for _, a := range e.Addresses {
			targets = append(targets, intercept.Target{Address: a, Protocol: p.Protocol.Number(), Port: p.Port, Backends: backends(list, a, p.Target)})
		}
	}
	if !e.waits(now) {
		e.pass()
		e.apply(now, targets)
	}
	e.end(now)
	e.countLeaving(now)
}

// waits tells whether it is too early to go by nothing but probes: those that an earlier run has found go on getting connections.
func (e *entry) waits(now time.Time) bool {
	return !e.told && e.targets == nil && now.Sub(e.begun) < firstWait
}

// pass has the listener pass connections on to the members of the first TCP port. It does without the kernel's tables.
func (e *entry) pass() {
	i := e.firstTCP()
	if e.proxy == nil || i < 0 {
		return
	}
	all := []intercept.Backend{}
	for _, s := range e.shares[i] {
		if s.Used {
			all = append(all, intercept.Backend{At: netip.AddrPortFrom(s.SentTo[0], e.Ports[i].Target), Weight: s.Weight})
		}
	}
	if e.proxied == nil || !slices.Equal(all, e.proxied) {
		e.proxy.SetBackends(all)
		e.proxied = all
	}
}

// backends are the members that are used, as the target at a sees them.
func backends(list []Share, a netip.Addr, port uint16) (out []intercept.Backend) {
	for _, s := range list {
		for _, at := range s.SentTo {
			if at.Is4() == a.Is4() {
				out = append(out, intercept.Backend{At: netip.AddrPortFrom(at, port), Weight: s.Weight})
			}
		}
	}
	return out
}

// apply has the kernel do it.
func (e *entry) apply(now time.Time, targets []intercept.Target) {
	same := !e.unsure && e.targets != nil && reflect.DeepEqual(e.targets, targets)
	if now.Before(e.again) || same && now.Sub(e.renewed) < renewEvery {
		return
	}
	if err := e.carryOut(targets, same); err != nil {
		e.again, e.unsure = now.Add(retryAfter), true
		if text := err.Error(); text != e.problem {
			e.problem = text
			e.log.Warn("connections are not sent to the members as they should be", "code", string(code.NotFollowed), "error", err)
		}
		return
	}
	if e.problem != "" {
		e.log.Info("connections are sent to the members again")
	}
	if !same {
		e.log.Info("connections go to these members", "members", e.usedText(), "before", countOf(e.targets))
	}
	if gone := without(e.targets, targets); len(gone) > 0 {
		if err := e.plane.Forget(gone...); err != nil {
			e.log.Warn("a new connection may be given to a member that has reset the last one from the same port", "error", err)
		}
	}
	e.targets, e.unsure, e.renewed, e.problem = targets, false, now, ""
}

// without are the backends that get no connections any more.
func without(before, after []intercept.Target) (gone []netip.AddrPort) {
	uses := func(all []intercept.Target, at netip.AddrPort) bool {
		return slices.ContainsFunc(all, func(t intercept.Target) bool {
			return slices.ContainsFunc(t.Backends, func(b intercept.Backend) bool { return b.At == at })
		})
	}
	for _, t := range before {
		for _, b := range t.Backends {
			if !uses(after, b.At) && !slices.Contains(gone, b.At) {
				gone = append(gone, b.At)
			}
		}
	}
	return gone
}

// due is when the kernel is to be told again, whatever happens.
func (e *entry) due(now time.Time) time.Time {
	switch {
	case e.waits(now):
		return e.begun.Add(firstWait)
	case now.Before(e.again):
		return e.again
	}
	return e.renewed.Add(renewEvery)
}

func (e *entry) carryOut(targets []intercept.Target, same bool) error {
	if e.plane == nil {
		plane, err := e.host.Open(e.Name)
		if err != nil {
			return err
		}
		e.plane = plane
	}
	if same {
		return e.plane.Renew(lifetime)
	}
	if err := e.plane.Apply(intercept.Config{Targets: targets, Lifetime: lifetime}); err != nil {
		return err
	}
	return e.plane.Renew(lifetime)
}

// end ends connections to members whose hosts have died since.
func (e *entry) end(now time.Time) {
	dead := died(e.states, e.told)
	e.dead = slices.DeleteFunc(e.dead, func(a netip.Addr) bool { return !slices.Contains(dead, a) })
	news := slices.DeleteFunc(dead, func(a netip.Addr) bool { return slices.Contains(e.dead, a) })
	if len(news) == 0 || now.Before(e.endAgain) {
		return
	}
	n := 0
	if e.proxy != nil {
		n = e.proxy.Reset(news...)
		e.ended += n
	}
	if e.targets == nil { // until the kernel sends connections somewhere it does not know which those are
		e.endAgain = now.Add(retryAfter)
		return
	}
	ended, err := e.plane.Destroy(news...)
	e.ended += ended.Sockets
	if e.endFailed++; err != nil && e.endFailed < endTries {
		e.endAgain = now.Add(retryAfter)
		return
	}
	e.dead, e.endFailed = append(e.dead, news...), 0
	if err != nil {
		e.log.Warn("connections to a member whose host is dead may go on until they time out", "member", news, "error", err)
		return
	}
	e.log.Info("the host of a member is dead: connections to it are ended", "member", news, "connections", n+ended.Sockets)
}

// note logs when members begin and cease to say who they are.
func (e *entry) note(now time.Time) {
	switch {
	case e.told == e.said:
	case e.told:
		e.log.Info("members say who they are", "by", e.machine.By(now))
	default:
		e.log.Warn("no member says anything any more: connections go to those that are reached from here, or else to the virtual address on the wire",
			"code", string(code.NotFollowed))
	}
	e.said = e.told
}

// usedText are the members of the first port that get connections.
func (e *entry) usedText() string {
	text := ""
	for _, s := range e.shares[0] {
		if s.Used {
			if text != "" {
				text += " "
			}
			text += s.Address.String()
		}
	}
	if text == "" {
		return "nobody: the virtual address on the wire"
	}
	return text
}

// countOf is how many backends there are for the first target.
func countOf(targets []intercept.Target) int {
	if len(targets) == 0 {
		return 0
	}
	return len(targets[0].Backends)
}

// close ends it; with stays another run is about to go on.
func (e *entry) close(stays bool) error {
	switch {
	case e.plane == nil:
		return nil
	case stays:
		e.plane.Leave()
		return nil
	}
	return e.plane.Close()
}
