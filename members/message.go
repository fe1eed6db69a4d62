package members

import (
	"net/netip"
	"strconv"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/vrrp"
)

// Revision is what this software can do within the version of the envelope. It grows with every addition.
const Revision = 8

// RevisionPrompt is the first whose Active is Backup once its last advertisement is as old as its lease may be, without Skew_Time.
const RevisionPrompt = 8

// Type is a message's type.
type Type uint8

// The types.
const (
	Hello   Type = 1 // to all: who and how the sender is
	Request Type = 2 // to the holder: let me have the address
	Grant   Type = 3 // to the one that asked: the address is yours
)

// String returns "HELLO", "REQUEST" or "GRANT".
func (t Type) String() string {
	switch t {
	case Hello:
		return "HELLO"
	case Request:
		return "REQUEST"
	case Grant:
		return "GRANT"
	}
	return "type " + strconv.Itoa(int(t))
}

// Message is one message. All types say who and how the sender is.
type Message struct {
	Type Type
	// Session tells one run of a node from the next: random, and the same until the node starts anew.
	Session uint64
	Peer    PeerState
	// Transfer is what a REQUEST or a GRANT is about; unused in a HELLO.
	Transfer Transfer
}

// Self is how a node is, in its own words.
type Self struct {
	State    vrrp.State // its number is on the wire
	Base     uint8      // the configured priority
	Priority uint8      // what the node advertises, or would

	// Fit tells that the node would be a good holder. A holder that is not fit wants to give the address away.
	Fit    bool
	Reason string // why it is not fit, or leaves, at most 200 bytes
	Code   code.Code
	// NoCandidate tells that the node never holds the address, however fit it is: it is a member, and no more. It is never Fit.
	NoCandidate bool
	// Draining tells that a node which has passed the address on drains the connections that came through it, and
	// wants to have what clients say on them.
	Draining bool
	For      netip.Addr // the only node that it wants to give the address to; the zero Addr for any

	// Claims tells that the node holds the address, or is about to: its advertisements leave, and the lease that the last of
	// them has begun is not over.
	Claims bool
	Router Router // its Virtual Router; the zero Router if it does not say
	// Deaf tells that nothing arrives at the node, as far as it knows: what it sends still does. Nobody yields to it.
	Deaf bool
	// HearsNobody tells that nothing has arrived at the node since its start, or only in its first moments: it is alone, or deaf, and cannot know which.
	// Members that hear each other do. A holder says so for one and a half intervals more: until then it advertises priority 1.
	HearsNobody bool
	// Spread is its part in spreading the load of the address; nil: none. One that no message can carry counts as nil. A
	// change of its Connections alone is said with the next message, and not immediately.
	Spread *Spread
}

// PeerState is what a node says about itself.
type PeerState struct {
	Self
	Group    netip.Addr // the first of the virtual addresses: tells one group on the link from another
	Node     string     // the node's name, at most 253 bytes; empty if it has none
	Software string     // version of the program, at most 64 bytes
	Revision uint8      // see the constant

	Epoch  uint64  // counts how often the node has become Active in this session
	Proven bool    // it was fit before, in this session
	Hears  []Heard // the members whose messages it hears, at most 28
	// Fast tells that the node finds out by beats and echoes whether the node of a holder is gone (package pulse), and answers others that ask.
	Fast bool
	// Unanswered is the session of the holder, as the node knows it, that has left its questions for the address unanswered; 0 for none.
	Unanswered uint64
	// Unreached is the session of the holder, as the node knows it, to which its connections to the address do not come though it hears it; 0 for none.
	Unreached uint64
	// NeverReached tells that no connection of the node has come to any holder since the node's start: it may be one
	// that has no business there. Without Unreached it is false, which then says nothing.
	NeverReached bool
	// Clients are some of those that the node serves, whose load is spread: those whose turn it is in this HELLO. A message has as many of them as
	// there is room for.
	Clients []Client

	// Lifetime is for how long this counts if nothing more is heard, in milliseconds on the wire; 0 when the sender
	// leaves.
	Lifetime time.Duration
}

// Transfer names one attempt to pass the address on.
type Transfer struct {
	To      netip.Addr // the node that the message is for; the others listen
	Session uint64     // of that node
	Epoch   uint64     // of the holder: the one that is to end
	Nonce   uint64     // chosen by the one that asks, new for each REQUEST; the GRANT repeats it
}

// Router is what has to be the same, or to be known, for the advertisements of one node to be heard by another.
type Router struct {
	Version, VRID uint8
	Interval      time.Duration // between two advertisements, in milliseconds on the wire; at most 255 s
	Addresses     uint32        // digest of the addresses that it advertises, or would: see [DigestOf]; 0: it does not say
	MTU           uint16        // of the interface; 0: it does not say
}

// DigestOf is a number that two nodes have in common whose lists have the same addresses, in any order; never 0. It is no protection against
// those who choose addresses for it.
func DigestOf(addresses []netip.Addr) (sum uint32) {
	const offset, prime = 2166136261, 16777619 // FNV-1a
	for _, a := range addresses {
		h := uint32(offset)
		for _, b := range a.As16() {
			h = (h ^ uint32(b)) * prime
		}
		sum += h
	}
	return max(sum, 1)
}

// maxInterval is the longest advertisement interval of any version.
const maxInterval = 255 * time.Second

// Heard is one member that a node hears.
type Heard struct {
	Session uint64 // the member's
	Missing bool   // it claims the address, and no advertisement of it arrives
}
