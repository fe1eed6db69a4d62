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
	// Peers are the other nodes when they are known by configuration; the own address may be among them. Advertisements
	// go to them, and theirs alone are heard. They feed the rank that breaks ties. None: the multicast group.
	Peers []netip.Addr
	// AnyAddresses takes advertisements with any list of addresses for this cluster's, as RFC 9568 has it. Otherwise
	// one that shares no address with Router belongs to another cluster.
	AnyAddresses bool
	// Framed says that advertisements leave in frames of the socket's own making. How the kernel sees such a frame on
	// its way out depends on the kind of the link: what renews the lease is one for nobody that follows, as with Peers.
	Framed bool
	// Form is the checksum of what is sent.
	Form vrrp.ChecksumForm
	// Members lets the node know the others, and pass the address on; nil: plain VRRP alone. The caller closes it after
	// Run has returned.
	Members MembersWire
	// AsMember is this node among the members. The elector itself sets its Address, Preempt, PreemptDelay and Lease, and
	// its Group to the first address that is advertised. Where none is, the given Group stands for the addresses.
	AsMember members.Config
	// Pulse tells within some 40 ms that the node of the Active is gone; nil: its silence alone does, after three
	// intervals. It needs Members and Answers.
	Pulse Pulse
	// GroupMember is the instance as one of a group; nil: it moves alone. With one, Router.Grouped is set.
	GroupMember *GroupMember
	// Ears tell whether this node hears anything; nil: it is taken for granted.
	Ears Ears
	// Answers asks the link for the address that stands for all, and tells within a few milliseconds whether somebody
	// answers. It is safe from any goroutine. nil: the silence of a member alone tells that its process has ended.
	Answers func(netip.Addr) bool
	// Held are the members whose end is heard in the moment in which it comes. It is safe from any goroutine. nil:
	// there are none.
	Held func() []netip.Addr
	// Entries is how many virtual routers this node may have to take over at the same moment; 0 and 1 are one.
	Entries int
	// KernelTimer has it wait by a timer of the kernel, which wakes nobody else; false: by one of Go's runtime, as in virtual time.
	KernelTimer bool
	// NoCandidate keeps the node from ever holding the addresses, until SetCandidate says otherwise: it is a member, and no more.
	NoCandidate bool
}

// first is the address that stands for all: it names the group among the members, and the link is asked for it. The
// host binds it also where advertisements leave it out, with all others.
func (c *Config) first() netip.Addr {
	if len(c.Router.Addresses) > 0 {
		return c.Router.Addresses[0] // the family that carries the election
	}
	return c.AsMember.Group
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
