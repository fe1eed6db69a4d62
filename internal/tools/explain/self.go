package explain

import (
	"cmp"
	"fmt"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// self is what this node is, and what makes it that. Checks are facts of their own.
func (c *chain) self() {
	switch {
	case c.Observed == instance.ObservedRemoved:
		c.say(cmp.Or(c.Code, code.Removed), c.Since, "this node has left the election: "+c.Reason)
	case c.Silent:
		c.say(cmp.Or(c.Code, code.LeaseLapsed), time.Time{}, c.Reason)
	case c.Desired == instance.Held, c.Desired == instance.Drained:
		c.wanted()
	case c.Observed == instance.ObservedDraining:
		c.say(code.Drained, time.Time{}, "this node gives the address away, or drains its connections")
	case c.Blocked != "":
		c.blocked()
	case c.State == initialize:
		c.apart()
	case c.NoCandidate:
		c.member()
	case !c.Eligible:
		c.unfit()
	case c.State != active:
		c.standby()
	}
}

// wanted is what an operator wants of this node.
func (c *chain) wanted() {
	of, text := code.Held, "an operator holds this node out"
	if c.Desired == instance.Drained {
		of, text = code.Drained, "an operator has drained this node, so it comes last"
	}
	var since time.Time
	if c.Held != nil {
		since = c.Held.Since
		if c.Held.Reason != "" {
			text += ": " + c.Held.Reason
		}
	}
	if c.State == active {
		text += "; it holds the address until another node has taken it"
	}
	c.say(of, since, text)
}

// blocked is why no node can hold the address.
func (c *chain) blocked() {
	of, reason := code.NoQuorum, c.Blocked
	if c.Why != nil {
		of = cmp.Or(c.Why.Code, of)
	}
	c.say(of, time.Time{}, "no node can hold the address: "+reason)
}

// apart is why this node is in no election.
func (c *chain) apart() {
	of, reason := c.Code, c.Reason
	if c.Why != nil {
		of, reason = c.Why.Code, c.Why.Reason
	}
	c.say(of, c.Since, "this node is in no election: "+reason)
}

const sentNothing = ", so it tells the balancer to send it none"

// external is whose the addresses are, and whether a balancer should send connections to this node.
func (c *chain) external() {
	c.say(code.External, c.Since, fmt.Sprintf("%s is external: clients connect to %s, and no node holds it", c.addresses(), c.Endpoint))
	switch c.Desired {
	case instance.Held:
		c.say(code.Held, time.Time{}, "an operator holds this node out"+sentNothing)
	case instance.Drained:
		c.say(code.Drained, time.Time{}, "an operator has drained this node"+sentNothing)
	}
	c.checks()
	if c.Eligible {
		c.fine(time.Time{}, "this node is fit to be sent connections by the balancer")
	}
}

// unfit is why this node comes last, or takes no part. A check that is the cause says the rest.
func (c *chain) unfit() {
	text := "this node is not fit, so it comes last"
	switch {
	case c.State == active:
		text = "this node is not fit, and keeps the address as long as no fit node asks for it"
	case c.Reason != "" && c.Priority == 0:
		text = "this node is not fit, so it takes no part"
	}
	of := code.Code("")
	if c.Why != nil {
		of = c.Why.Code
	}
	for i := range c.Checks {
		if c.Checks[i].State.String() != "healthy" && c.Checks[i].Weight == 0 {
			c.fine(time.Time{}, text)
			return
		}
	}
	c.say(of, time.Time{}, text+": "+c.Unfit)
}

// member is what a node is that never holds the address.
func (c *chain) member() {
	text := "this node is a member, and no candidate: it never holds the address"
	if c.State == active {
		text = "this node is no candidate any more, and keeps the address until another node has it"
	}
	c.say(code.NoCandidate, time.Time{}, text)
	if c.Observed == instance.ObservedIneligible {
		c.fine(time.Time{}, "this node is not fit: "+c.Unfit)
	}
}

// standby is why a node that is fit does not hold the address.
func (c *chain) standby() {
	var other uint8
	if m := c.Member(c.Holder); m != nil {
		other = m.Priority
	}
	switch {
	case c.Why != nil:
		c.say(c.Why.Code, time.Time{}, "this node waits: "+c.Why.Reason)
	case c.Holder == "":
		c.say(c.Code, c.Since, "this node is standby: "+c.Reason)
	case c.VRID == 0:
		c.fine(c.Since, "this node is standby: with Raft a fit leader keeps the address, whatever the priorities")
	case c.Priority < other:
		c.say(code.LowerPriority, c.Since, fmt.Sprintf("this node is standby: its priority is %d, that of the holder %d", c.Priority, other))
	case c.Priority == other:
		c.say(code.EqualPriority, c.Since, fmt.Sprintf("this node is standby: both have priority %d, and the holder keeps the address", c.Priority))
	case !c.Preempt:
		c.say(code.PreemptOff, c.Since, fmt.Sprintf("this node is standby: its priority is %d and that of the holder %d, and vrrp.preempt is off", c.Priority, other))
	default:
		c.say(code.HigherPriority, c.Since, fmt.Sprintf("this node is standby, and takes the address soon: its priority is %d, that of the holder %d", c.Priority, other))
	}
}
