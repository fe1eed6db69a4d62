package subscription

import (
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/keepvip/keepvip/members/slots"
)

// Type is a message's type. The numbers go on behind those of the members' other messages.
type Type uint8

// The types.
const (
	Subscribe Type = 4 // of a follower: tell me who the members are
	Cookie    Type = 5 // of a member: show that this reaches you
	Members   Type = 6 // of a member: these are they
)

// String returns "SUBSCRIBE", "COOKIE" or "MEMBERS".
func (t Type) String() string {
	switch t {
	case Subscribe:
		return "SUBSCRIBE"
	case Cookie:
		return "COOKIE"
	case Members:
		return "MEMBERS"
	}
	return "type " + strconv.Itoa(int(t))
}

// Message is one message.
type Message struct {
	Type Type
	// Session is the follower's: random, new for each subscription. Members repeat it, so that nobody can answer who has not seen the question.
	Session uint64
	// Sequence is more in each message that one sender has in one Session.
	Sequence uint64
	Group    netip.Addr // the first of the virtual addresses
	// Cookie, of SUBSCRIBE and COOKIE, is made by the member; zero: none yet.
	Cookie [cookieLen]byte
	Node   string // of a SUBSCRIBE: the follower's name, for an operator
	// Connections, of a SUBSCRIBE, are those of the follower that this member serves, which is to get no new ones; nil: it has not counted them.
	Connections *uint32
	List        List // of MEMBERS
}

// List is what one member knows of all of them.
type List struct {
	Lease   time.Duration // for how long the subscription lasts if it is not renewed
	Every   time.Duration // the time between two of these messages when nothing changes
	Members []Member      // at most mostMembers, and one of them is Self
}

// Member is one member, as another one, or itself, sees it.
type Member struct {
	Address netip.Addr // own address, of the family that carries the election
	Other   netip.Addr // of the other family; the zero Addr: it has none
	Node    string     // its name, at most 32 bytes; "" if it has none
	Self    bool       // it says so of itself
	Weight  uint8      // its share of new connections
	// Age is how old the newest word of the member is that this goes by, at most [Never].
	Age time.Duration
	// Lifetime is for how long such a word counts.
	Lifetime time.Duration
	Ports    []Port // at most mostPorts
	// Silent, of a Picture, tells that its newest word is too old to count.
	Silent bool
}

// Port is what can be expected of a member for one port of the address.
type Port struct {
	Protocol  uint8 // of IP
	Port      uint16
	Condition slots.Condition
}

const (
	// mostMembers is how many a message has room for: as many as share the slots.
	mostMembers = slots.Most
	// mostPorts is how many ports of an address are spread at most.
	mostPorts = 16
	// Never is the Age of a word that was never heard, and of all that are older.
	Never = 65535 * time.Millisecond
)

// Dead tells whether the host is dead, whatever the port.
func (m Member) Dead() bool {
	return len(m.Ports) > 0 && !slices.ContainsFunc(m.Ports, func(p Port) bool { return p.Condition != slots.Dead })
}

// On is what can be expected of the member for a port: dead where it does not serve it.
func (m Member) On(protocol uint8, port uint16) slots.Condition {
	for _, p := range m.Ports {
		if p.Protocol == protocol && p.Port == port {
			return p.Condition
		}
	}
	return slots.Dead
}

// alike tells whether two lists say the same, but for what changes all the time.
func (m Member) alike(o Member) bool {
	return m.Address == o.Address && m.Other == o.Other && m.Node == o.Node && m.Self == o.Self && m.Weight == o.Weight &&
		m.Lifetime == o.Lifetime && slices.Equal(m.Ports, o.Ports)
}
