package members

import (
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/members/lifeline"
	"github.com/keepvip/keepvip/members/pulse"
)

// Event is something that happened to a Machine. The set is closed.
type Event interface{ event() }

// SetSelf says how this node is. It is a level: set it whenever it may have changed. A node that has become Active sets
// it only after the address is bound and announced, because the one that has granted it then lets go.
type SetSelf struct {
	Self
	// Unanswered is the holder that has left this node's questions for the address unanswered; the zero Addr for none.
	Unanswered netip.Addr
	// Unreached is the holder to which this node's connections to the address do not come; the zero Addr for none.
	Unreached netip.Addr
	// NeverReached tells that no connection of this node has come to any holder since its start. Only with Unreached is
	// it said.
	NeverReached bool
}

// Received is a message of the group from another node.
type Received struct {
	Source  netip.Addr // of the IP packet
	Message Message
	At      time.Time // when it came in; zero: just now
	// Line is what has become of the line to Source; 0 for a message. There is no message then.
	Line lifeline.Kind
	// Gone says that the node of Source is gone, as this one and another have found; nil for a message. There is no message then.
	Gone *pulse.Gone
	// Refused is why the message was refused, if it was: nothing of it but the Source is known then, and that may be invented.
	Refused Reason
	TTL     int  // of a message that is refused for that
	Signed  bool // by a key that this node has, too
	// Doubt is why the message, which counts, would have been refused if the mode were [auth.Enforce]; empty if it would not.
	Doubt Reason
}

// arrived is when it came in, which may be long ago for a process that stood still.
func (r Received) arrived(now time.Time) time.Time {
	if r.At.IsZero() || r.At.After(now) {
		return now
	}
	return r.At
}

// Advertised says that an advertisement of this node, which claims the address, has just left.
type Advertised struct{}

// Contested says that another node advertises, too, and should yield to this one: it may hear nothing of this one but messages.
type Contested struct{}

// Confirmed answers a Confirm.
type Confirmed struct {
	ID  uint64 // the Confirm's
	Fit bool
}

// Reconfigure changes what can be changed without a new session: Group, Addresses, Software, Passive, Preempt, PreemptDelay, Adverts,
// RecoverHold, Lease and SpreadEvery.
type Reconfigure struct{ Config Config }

// Passed answers a Pass: nobody is told any more that the address is here, and this node is Backup. Where that could not be done
// there is no answer, and nothing has changed.
type Passed struct{}

// Expired says that the Deadline has passed. Too early, it does nothing.
type Expired struct{}

// Leave says good-bye, and why; nothing more is sent or asked for.
type Leave struct {
	Reason string
	Code   code.Code
}

func (SetSelf) event()     {}
func (Advertised) event()  {}
func (Contested) event()   {}
func (Received) event()    {}
func (Confirmed) event()   {}
func (Reconfigure) event() {}
func (Passed) event()      {}
func (Expired) event()     {}
func (Leave) event()       {}

// Action is something the caller must do, in the order given. The set is closed.
type Action interface{ action() }

// Send sends a message to all.
type Send struct{ Message Message }

// Confirm asks for one fresh probe of this node's health, whose result Confirmed brings.
type Confirm struct{ ID uint64 }

// Pass says that the address is to be passed on: stop answering ARP and neighbour solicitations for it, and become Backup without
// letting go of it; then Passed, whose Step sends the GRANT. Nobody may answer for the address again before the election
// makes this node Active anew. It is the last action of its Step.
type Pass struct{ To netip.Addr }

// Release ends what Passed has begun: the requester has announced the address, or was given time enough.
type Release struct {
	To    netip.Addr
	Heard bool // the requester has announced it
}

// Take takes the address: become Active now, and not at Until or later, when the former holder may be about to answer again.
type Take struct {
	From  netip.Addr
	Until time.Time
}

// Claim says that a member claims the address of which no advertisement is heard: it counts as an advertisement would, but
// that a Backup does not preempt it. If one has been heard by now ([Machine.Unheard]), it counts for nothing.
type Claim struct {
	From     netip.Addr
	Priority uint8
	Interval time.Duration // between two of its advertisements
	At       time.Time     // when it was heard
	// Deaf tells that the member does not hear this node. It cannot be told to yield, and not to claim more often: what it
	// says counts for Lasts.
	Deaf  bool
	Lasts time.Duration
}

// sendTransfer has a REQUEST or a GRANT sent. It is for a Machine alone, which makes a Send of it: that says who and how this node is.
type sendTransfer struct {
	kind     Type
	transfer Transfer
}

func (Claim) action()   {}
func (Send) action()    {}
func (Confirm) action() {}
func (Pass) action()    {}
func (Release) action() {}
func (Take) action()    {}

func (sendTransfer) action() {}

// Config describes this node's part in a group.
type Config struct {
	Group netip.Addr // as in PeerState
	// Addresses and MTU are as in Router; what else a Router has comes with [Self].
	Addresses uint32
	MTU       uint16
	Address   netip.Addr // own address: what the others see as the source of our messages
	Node      string
	Software  string
	Session   uint64 // random, new for each Machine
	// Every is the time between two HELLOs that nothing else calls for, at most 15 s; 0 is [DefaultEvery].
	Every time.Duration
	// SpreadEvery is the least time between two HELLOs of a node that spreads, when nothing else calls for them: with many groups that do, each
	// speaks less often. It speaks with each advertisement interval, if that is longer, and at least as often as it does without.
	SpreadEvery time.Duration

	// Fast is as in PeerState.
	Fast bool
	// Passive tells and listens, but neither asks nor gives: the address cannot move without others.
	Passive bool
	// Patient follows a holder that is a member for as long as that advertises, also when it answers no REQUEST: nothing is taken without a GRANT.
	Patient bool
	// Preempt lets a node of higher priority ask a fit holder, after PreemptDelay.
	Preempt      bool
	PreemptDelay time.Duration
	// Adverts is how many advertisements may be missed before their sender counts as gone; 0: three.
	Adverts int
	// RecoverHold is how long after an outage in which nobody was fit nobody asks.
	RecoverHold time.Duration
	// Lease is for how long at least a node that has passed the address on stays silent if nobody takes it: the shortest
	// Active_Down_Interval of the group, and less.
	Lease time.Duration
}

const (
	// DefaultEvery is the time between two HELLOs.
	DefaultEvery = time.Second
	// longestEvery is what the lifetime in a message has room for.
	longestEvery = 15 * time.Second
)

// DefaultRecoverHold is longer than the apiservers of a group take to recover one after the other from what made
// all of them unhealthy.
const DefaultRecoverHold = 5 * time.Second
