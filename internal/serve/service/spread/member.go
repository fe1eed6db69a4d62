package spread

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/members/slots"
)

// member is one that spreads, as this node knows it.
type member struct {
	address netip.Addr // on the link of the virtual addresses
	by      netip.Addr // by which the election knows it
	node    string
	spread  election.Spread
	heard   bool // ever
	awaited bool // it was never heard, and may have connections of the time before this node began
	last    time.Time
	// silentSince is since when it does not say that it spreads; zero: it does.
	silentSince time.Time
	// lostSince is since when it is dead for sure; zero: it is not, or this node may be the one that is cut off.
	lostSince time.Time
	doubted   bool // it was found dead while this node may have been cut off
	// notSpreadingSince is since when it is heard, and does not say that it spreads; zero: it is not heard, or spreads.
	notSpreadingSince time.Time

	inquiry
	holder        bool
	leaving       string    // what it says of why it is not fit
	clients       clients   // of its connections, as far as it has said
	unlistedSince time.Time // since when it is not listed any more; zero: it is, or nobody is
}

// said is how it spreads; nil: it has not said yet.
func (m *member) said() *election.Spread {
	if !m.heard {
		return nil
	}
	return &m.spread
}

// gone tells that a member that is not listed any more has no connections, or had its time.
func (m *member) gone(now time.Time) bool {
	if m.unlistedSince.IsZero() {
		return false
	}
	connected := slices.ContainsFunc(m.spread.Ports, func(p election.SpreadPort) bool { return p.Connections > 0 })
	since := now.Sub(m.unlistedSince)
	return m.dead || since >= EndsWithin || since >= leastEnding && !connected
}

// markSilent notes that nothing is heard of it.
func (m *member) markSilent(now time.Time) {
	if m.silentSince.IsZero() {
		m.silentSince = now
	}
}

// lost notes that a dead member is dead for sure from now on. What its host left unanswered while this node may have been cut off says nothing of it: the
// host counts as one that has just fallen silent, and is asked anew.
func (m *member) lost(now time.Time) {
	if m.doubted {
		m.inquiry, m.silentSince, m.doubted = inquiry{asking: m.asking}, now, false
		return
	}
	m.lostSince = now
}

// expired tells that its place is given up.
func (m *member) expired(now time.Time) bool {
	switch {
	case m.silentSince.IsZero():
		return false
	case !m.heard && !m.notSpreadingSince.IsZero():
		return !m.awaited
	case !m.notSpreadingSince.IsZero(): // it lives, and may be about to spread again
		return now.Sub(m.notSpreadingSince) > forgetDead
	case !m.heard:
		return now.Sub(m.silentSince) > forgetDead
	case m.dead:
		return !m.lostSince.IsZero() && now.Sub(m.lostSince) > forgetDead
	}
	return now.Sub(m.silentSince) > forgetSilent
}

// condition is what can be expected of a member for one part of the ports, and why it is not fit.
func (m *member) condition(p portSet) (slots.Condition, string) {
	switch {
	case m.dead:
		return slots.Dead, "its host does not answer"
	case m.awaited:
		return slots.Keeps, "it has not said yet that it spreads"
	case !m.heard:
		return slots.Dead, "it was never heard"
	case m.serves(p) == 0 && m.holder: // as while one node after the other is reloaded: until then it has served all connections
		return slots.Keeps, "it does not spread the port"
	case m.serves(p) == 0:
		return slots.Dead, "it does not spread the port"
	case !m.unlistedSince.IsZero():
		return slots.Keeps, "it is not listed any more"
	case !m.notSpreadingSince.IsZero():
		return slots.Keeps, "it does not spread"
	case !m.silentSince.IsZero():
		return slots.Keeps, "its keepvip is silent"
	case m.serves(p) < len(p.ports): // as while one node after the other is reloaded
		return slots.Keeps, "it does not spread all of these ports"
	case m.refuses(p):
		return slots.Keeps, saysRefused
	case !m.healthy(p):
		return slots.Keeps, p.unhealthy(m.leaving)
	case m.spread.Weight == 0:
		return slots.Fit, "its weight is 0"
	}
	return slots.Fit, ""
}

// unhealthy is why a member keeps what it has, which says that of itself.
func (p portSet) unhealthy(why string) string {
	switch {
	case why != "":
		return why
	case p.check != "":
		return fmt.Sprintf("the check %s fails", p.check)
	}
	return "it is not fit"
}

// serves is how many of the ports the member translates.
func (m *member) serves(p portSet) (n int) {
	for _, port := range p.ports {
		if m.port(port) != nil {
			n++
		}
	}
	return n
}

// saysRefused is why a member gets nothing that is fit, and has found that its own service does not take connections.
const saysRefused = "it says that it takes no new connections at the port"

// refuses tells whether that is so: no check of the port says anything else.
func (m *member) refuses(p portSet) bool { return p.check == "" && m.spread.Fit && !m.healthy(p) }

func (m *member) healthy(p portSet) bool {
	return (p.check != "" || m.spread.Fit) && !slices.ContainsFunc(p.ports, func(port config.SpreadPort) bool { return !m.port(port).Healthy })
}

func (m *member) port(p config.SpreadPort) *election.SpreadPort {
	i := slices.IndexFunc(m.spread.Ports, func(s election.SpreadPort) bool { return s.Protocol == p.Protocol.Number() && s.Port == p.Port })
	if i < 0 {
		return nil
	}
	return &m.spread.Ports[i]
}

// connections is how many the member has to these ports, as it has said last.
func (m *member) connections(to []config.SpreadPort) (n uint32) {
	for _, p := range to {
		if said := m.port(p); said != nil {
			n += said.Connections
		}
	}
	return n
}
