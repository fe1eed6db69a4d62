package explain

import (
	"fmt"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
)

// wire is what others send that should not be there, and what of theirs is refused.
func (c *chain) wire() {
	for i := range c.Conflicts {
		k := &c.Conflicts[i]
		text := fmt.Sprintf("CONFLICT: %s is claimed by %s, which takes no part in the election", k.Address, k.MAC)
		if k.VRRP != nil {
			text += "; " + k.VRRP.String()
		}
		of := code.DuplicateAddress
		if k.Member.IsValid() {
			of = code.MemberClaims
			text += fmt.Sprintf("; that is the host of %s", c.who(k.Member.String()))
		}
		c.say(of, k.Since, text)
	}
	for i := range c.Splits {
		k := &c.Splits[i]
		text := "SPLIT: " + k.String() + " holds the address, and none of its advertisements arrives here: " + k.Cause
		if k.Both {
			text += "; this node holds it, too"
		}
		c.facts = append(c.facts, Fact{Code: code.Split, Text: text, Since: k.Since, Remedy: k.Remedy})
	}
	for _, r := range c.Rejected {
		if !r.Acute(c.now) {
			continue
		}
		text := fmt.Sprintf("packets are refused: %s (%d times)", r.Text, r.Count)
		if r.Source.IsValid() {
			text = fmt.Sprintf("packets of %s are refused: %s (%d times)", c.who(r.Source.WithZone("").String()), r.Text, r.Count)
		}
		c.facts = append(c.facts, Fact{Code: r.Code, Text: text, Remedy: r.Remedy})
	}
}

// members are the others that are not as they should be.
func (c *chain) members() {
	others := false
	for i := range c.Members {
		m := &c.Members[i]
		if m.Self {
			continue
		}
		others = true
		switch {
		case m.State.String() == silent:
			c.say(code.MemberSilent, m.LastHeard, fmt.Sprintf("%s is silent, was %s", m, m.Was))
		case m.State.String() == initialize && m.LastHeard.IsZero():
			c.say(code.MemberSilent, time.Time{}, m.String()+" was not heard since this node started")
		case m.Unwell():
			c.facts = append(c.facts, Fact{Code: m.Code, Text: m.String() + " is not fit: " + m.Unfit})
		}
	}
	if !others && len(c.Members) > 0 && !c.Local && !c.keptOut() {
		c.say(code.Alone, time.Time{}, "no other node is heard")
	}
}

// keptOut tells whether a member is heard and refused by the configuration: this node is not alone then.
func (c *chain) keptOut() bool {
	for _, r := range c.Rejected {
		if r.Acute(c.now) && (r.Code == code.NotAPeer || r.Code == code.BehindRouter) {
			return true
		}
	}
	return false
}
