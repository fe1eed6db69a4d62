package main

import (
	"fmt"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// conflictText says who, since when it was not heard, and what else is known of that host.
func conflictText(c instance.Conflict, now time.Time) string {
	text := fmt.Sprintf("%s is claimed by %s, which takes no part in the election (last heard %s ago)", c.Address, c.MAC, ago(now, c.LastSeen))
	if c.Member.IsValid() {
		text += "; that is the host of " + c.Member.String() + ", which is known as a member or a listed peer"
	}
	if c.VRRP != nil {
		text += ";\n            " + c.VRRP.String()
	}
	return text
}

// newcomersOf are members that appeared while nothing proves that they are members.
func newcomersOf(v instance.Status) []instance.SpreadNewcomer {
	if v.Spread == nil {
		return nil
	}
	return v.Spread.Newcomers
}

func newcomerText(n instance.SpreadNewcomer, now time.Time) string {
	return fmt.Sprintf("%s is a new member, heard first %s ago, and neither a key nor spread.members says that it is one", named(n.Node, n.Address), ago(now, n.Since))
}

// splitText says who, since when, why, and what to do.
func splitText(s election.Split, now time.Time) string {
	text := named(s.Node, s.Address) + " holds the address, and none of its advertisements has arrived here for " + ago(now, s.Since)
	if s.Both {
		text += "; this node holds it, too"
	}
	return text + ": " + s.Cause + "; " + s.Remedy
}

func memberText(m election.Member, now time.Time) string {
	state := m.State.String()
	if m.Was != "" && !m.LastHeard.IsZero() {
		state = fmt.Sprintf("%s for %s, was %s", coded(state, code.MemberSilent), ago(now, m.LastHeard), m.Was)
	}
	out := fmt.Sprintf("%s %s, priority %d", named(m.Node, m.Address), state, m.Priority)
	if m.Witness {
		out += ", witness"
	}
	if m.NoCandidate {
		out += ", no candidate"
	}
	if m.Unwell() && !m.Self {
		out += ", not fit: " + coded(m.Unfit, m.Code)
	}
	if m.Self {
		return out + ", this node"
	}
	if !m.LastHeard.IsZero() && m.Was == "" {
		out += ", heard " + ago(now, m.LastHeard) + " ago"
	}
	if m.Note != "" {
		out += "; " + m.Note
	}
	return out
}
