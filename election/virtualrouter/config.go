package virtualrouter

import (
	"net/netip"

	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

// Config describes one Virtual Router.
type Config struct {
	Router vrrp.Config
	// Bound is how many addresses a takeover binds: of both families, and more than an advertisement has room for. It says how long that
	// may take. 0: those that are advertised.
	Bound int
	// Peers are the other nodes when they are known by configuration; the own address may be among
	// them. They feed the rank that breaks ties.
	Peers []netip.Addr
	// Members lets the node know the others, and pass the address on; nil: plain VRRP alone.
	Members *MembersConfig
	// GroupMember is the instance as one of a group; nil: it moves alone. With one, Router.Grouped is set.
	GroupMember *GroupMember
	// Ears tell whether this node hears anything; nil: it is taken for granted.
	Ears Ears
	// Lifeline tells in the moment in which the process of a member ends; nil: its silence alone does.
	Lifeline Lifeline
	// Entries is how many virtual routers this node may have to take over at the same moment; 0 and 1 are one.
	Entries int
	// KernelTimer has it wait by a timer of the kernel, which wakes nobody else; false: by one of Go's runtime, as in virtual time.
	KernelTimer bool
	// NoCandidate keeps the node from ever holding the addresses, until SetCandidate says otherwise: it is a member, and no more.
	NoCandidate bool
}

// MembersWire carries the messages of one group. A members.Hub makes wires of a real network; tests make them of memory.
type MembersWire interface {
	Send(m members.Message) error
	Arrived() <-chan struct{}
	Take(dst []members.Received) []members.Received
	// Rename makes the wire carry the messages of another group.
	Rename(group netip.Addr)
	// Rejected counts what was refused, by reason.
	Rejected() map[members.Reason]uint64
}

// MembersConfig says how a node takes part in knowing the others. Of Machine the elector sets Group, Address, Preempt,
// PreemptDelay and Lease itself.
type MembersConfig struct {
	Wire    MembersWire // the caller closes it after Run has returned
	Machine members.Config
	// Pulse tells within some 40 ms that the node of the Active is gone; nil: its silence alone does, after three intervals. Config.Lifeline is set then.
	Pulse Pulse
}

// pulse is how the node of the Active is found to be gone; nil: its silence alone tells.
func (c *Config) pulse() Pulse {
	if c.Members == nil {
		return nil
	}
	return c.Members.Pulse
}
