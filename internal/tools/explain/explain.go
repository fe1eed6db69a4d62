package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// chain is an explanation that is being made.
type chain struct {
	*instance.Status
	node  string // the name of this node; empty for one without
	now   time.Time
	facts []Fact
}

// Address is why this node, with that name, is, or is not, the holder of what the status is about, as of now. The order is that in which a
// person asks: who holds it, what this node is and why, what is wrong elsewhere, and what comes next.
func Address(s *instance.Status, node string, now time.Time) []Fact {
	c := &chain{Status: s, node: node, now: now}
	if s.Observed == instance.ObservedExternal {
		c.external()
		return c.facts
	}
	c.holder()
	c.self()
	c.checks()
	c.wire()
	c.members()
	c.host()
	c.takers()
	return c.facts
}

// addresses are what is held, without the lengths of prefixes.
func (c *chain) addresses() string {
	var out []string
	for _, p := range c.Addresses {
		out = append(out, p.Addr().String())
	}
	return strings.Join(out, ", ")
}

// holder is who holds the address, since when, and what has brought it there.
func (c *chain) holder() {
	held := "the address"
	if len(c.Addresses) > 0 {
		held = c.addresses()
	}
	switch {
	case c.Silent:
		c.fine(c.Since, c.this()+" is elected, and its kernel keeps it from answering for "+held)
	case c.State == active:
		c.moved(c.Since, fmt.Sprintf("%s holds %s", c.this(), held), c.Code, c.Reason)
	case c.Holder != "":
		c.movedTo(fmt.Sprintf("%s holds %s", c.who(c.Holder), held))
	default:
		c.movedTo("nobody is heard as the holder of " + held)
	}
}

// movedTo is what the newest transition says, where it was to the present holder.
func (c *chain) movedTo(text string) {
	t := c.Last
	to := ""
	if t != nil && t.NewHolder.Address.IsValid() {
		to = t.NewHolder.Address.String()
	}
	if t == nil || to != c.Holder {
		c.fine(time.Time{}, text)
		return
	}
	c.moved(t.At, text, t.Code, "")
}

// moved appends who holds the address, with the cause of the newest transition if there is one.
func (c *chain) moved(since time.Time, text string, why code.Code, reason string) {
	if t := c.Last; t != nil && t.Cause != "" && (why == "" || t.Code == why) {
		why, reason = t.Code, t.Cause
	}
	if reason != "" {
		text += ": " + reason
	}
	f := Fact{Code: why, Text: text, Since: since} // whatever it was is over
	if why == code.ForwardedLate {
		f.Remedy = remedyOf(why) // and comes again with the next boot
	}
	c.facts = append(c.facts, f)
}

// this is what this node is called.
func (c *chain) this() string {
	if c.node == "" {
		return "this node"
	}
	return "this node (" + c.node + ")"
}

// who is the node at an address.
func (c *chain) who(address string) string {
	switch m := c.Member(address); {
	case m == nil:
		return address
	case m.Self:
		return c.this()
	default:
		return m.String()
	}
}

// The texts of states and verdicts that the status has.
const (
	active     = "active"
	backup     = "backup"
	initialize = "initialize"
	silent     = "silent"
	unhealthy  = "unhealthy"
	unknown    = "unknown"
)
