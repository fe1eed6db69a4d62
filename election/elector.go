package election

import (
	"context"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
)

// Elector decides whether this node is Active for one virtual address, or for several that move together.
type Elector interface {
	// Run takes part in the election until ctx ends; it resigns, and has the address released,
	// before it returns. It calls apply from its own goroutine and goes on only after apply has
	// returned: the address is bound or released by then. An error from apply of Serve
	// makes the elector resign and stay out for one Active_Down_Interval. Run is called once.
	// A holder may go on for a second to pass the address on first, unless the cause is ErrCutOff.
	Run(ctx context.Context, apply func(Decision) error) error

	// SetFitness says how fit this node is. It is a level, not an edge: the newest counts, it may be
	// set before Run and from any goroutine, and it never blocks.
	SetFitness(f Fitness)

	// SetProbe says how to look afresh at what this node's fitness comes from: probe blocks until the result is there,
	// at the latest until ctx ends. nil: what SetFitness has said is believed. Safe from any goroutine.
	SetProbe(probe func(ctx context.Context) Fitness)

	// LeaseEnd is until when this node may answer for the address if nothing else happens: the end of the
	// lease that its last advertisement began. It is zero while the node is not Active. Safe from any
	// goroutine.
	LeaseEnd() time.Time

	// Status is a copy of what the elector knows; safe from any goroutine.
	Status() Status
}

// Questioner is an Elector that passes on to the holder that it does not answer when it is asked for the addresses.
type Questioner interface {
	// SetUnanswered says which holder does not; the zero Addr for none. It is a level, and never blocks.
	SetUnanswered(holder netip.Addr)
}

// Visitor is an Elector that tells the others to which holder this node's connections to the addresses do not come.
type Visitor interface {
	// SetUnreached says to which holder this node's connections to the addresses do not come; the zero Unreached for none. It is a level, and never
	// blocks.
	SetUnreached(u Unreached)
}

// Unreached is a holder that is heard, and to which connections to the addresses do not come. The zero Unreached is none.
type Unreached struct {
	Holder netip.Addr `json:"holder"`
	Never  bool       `json:"never,omitempty"` // none has come to any holder since the start of the node that connects
}

// Outsider is a node whose connections to the addresses do not come to the holder, which it hears.
type Outsider struct {
	Node
	Self  bool
	Never bool // as in Unreached
}

// Extender is an Elector that tells when its lease has become longer. Where the kernel keeps the lease by transaction it is
// renewed then, and nobody has to ask in between: a lease that grows by itself is told several times while it lasts, too.
type Extender interface {
	// Extended receives when the lease may have become longer. It is the same channel every time.
	Extended() <-chan struct{}
}

// Role is the part that this node plays for the address.
type Role uint8

// The roles. Serve to Quiet to Standby is the way of an address that is passed on without loss.
const (
	Off     Role = iota // this node keeps out of the election, and holds nothing
	Standby             // it takes part, and holds nothing
	// Quiet: another node is taking the address. Serve those who know that it is here, and tell nobody new: no ARP, no neighbour
	// discovery.
	Quiet
	Serve // it holds the address: bind, announce and defend it
)

// State is the state that shows the role. A node that is Quiet has resigned.
func (r Role) State() State {
	switch r {
	case Serve:
		return Active
	case Standby, Quiet:
		return Backup
	default:
		return Initialize
	}
}

// RoleOf is the role of a node in this state that passes nothing on.
func RoleOf(s State) Role {
	switch s {
	case Active:
		return Serve
	case Backup:
		return Standby
	default:
		return Off
	}
}

// Decision is what an Elector has decided: which role this node plays from now on, and what is known about it. It is a whole, not a
// step: whoever carries it out compares it with the one before. An error makes a difference for two roles. From Serve: the address
// could not be bound, and the elector resigns. From Quiet: that would take too long now, nothing has changed, and the role is the
// one before. A host that cannot be Quiet at all releases the address, without an error.
type Decision struct {
	Role   Role
	Reason string     // a short clause that an operator reads
	Cause  string     // why the node that held the address gives it away: "n1: uid 0 asked for a handover"; empty when it says nothing
	Holder netip.Addr // the Active's address as far as known; the zero Addr when nobody is heard
	At     time.Time

	// What is told of a change. By From a new holder knows whose connections it has to forward; nobody acts on the rest.
	Code    code.Code     // the first cause, as far as it is known
	From    Node          // who had the address until now, as far as known
	To      Node          // who has it from now on, or is to have it: that is known before Holder is
	AskedBy string        // who asked for it, and where: "uid 0 on n1"; empty when nobody did
	Away    time.Duration // for how long nobody held the address, as heard here; 0 if somebody did throughout, or nobody does yet

	// Granted, with Serve: the former holder serves the address until this node has announced it.
	Granted bool
	// Rival, with Serve: another node that held the address, too, was heard at this moment. Whoever goes on announces last, so
	// announce again, now and each Again until no rival has been heard for a few of them.
	Rival bool
	Again time.Duration
}

// Fitness says how good this node would be as the holder.
type Fitness struct {
	// Out keeps the node out of the election altogether: it never becomes Active, and resigns.
	Out bool
	// Wait keeps a Backup from becoming Active while its timers run on: what forbids it may be over in a moment. A node
	// whose timers have ended meanwhile becomes Active when the wait is over, or one interval and Skew_Time later. A group waits for each of its
	// members. For an address owner, which has no timers, it is the same as Out.
	Wait bool
	// Less is taken off the configured priority; the result is clamped to 1..254. 0 is fully fit.
	Less int
	// Reason is why, for status and logs; empty when fit. Code is the same for machines.
	Reason string
	Code   code.Code
}

// Status is a snapshot of an elector.
type Status struct {
	State    State
	Reason   string    // why State was entered
	Code     code.Code // the same for machines
	Holder   netip.Addr
	Priority uint8 // effective: what this node advertises, or would
	Fitness  Fitness
	Members  []Member
	Counters Counters
	TimerLag time.Duration // the most by which a timer was served late in the last one to two minutes
	Rejected []Rejection   // what was refused, the newest first
	Splits   []Split       // who holds the address as far as its messages say, and not by VRRP
	Outside  []Outsider    // whose connections to the addresses do not come to the holder, by address

	// Detector is how this node would find out that the node of the holder is gone; nil: by its silence.
	Detector *Detector

	// Present is why the node is in State at this moment, where that changes while State lasts; empty where Reason says it.
	Present string
	// Blocked is why no node can become Active, as far as this one knows, and whatever it is itself: an election by
	// majority has none. Empty when one can.
	Blocked     string
	BlockedCode code.Code
	// NoSpare is why no other node could become Active if the holder died now, however fit the others are: a majority needs the holder.
	// Empty when one could, as far as the election goes.
	NoSpare string
}

// Detector finds out by beats and echoes whether the node of the holder is gone.
type Detector struct {
	Wait  float64   `json:"waitSeconds"`     // for how long a beat of the holder may be late, before it is looked at
	Plain string    `json:"plain,omitempty"` // why the advertisements decide all the same
	Code  code.Code `json:"code,omitempty"`  // of Plain
}

// Split is a member that says that it holds the address, while none of its advertisements arrives here. Nothing but what it
// says keeps this node from holding the address, too.
type Split struct {
	Address netip.Addr `json:"address"`
	Node    string     `json:"node,omitempty"` // its name
	Since   time.Time  `json:"since"`
	Both    bool       `json:"both"`  // this node holds the address as well
	Cause   string     `json:"cause"` // why its advertisements do not arrive, as far as is known
	Remedy  string     `json:"remedy"`
	Code    code.Code  `json:"code,omitempty"`
}

// String is as that of its Node.
func (s *Split) String() string { return Node{s.Address, s.Node}.String() }

// Counters count since the elector was made.
type Counters struct {
	Sent            uint64            `json:"advertsSent"`               // advertisements that left
	SendErrors      uint64            `json:"advertSendErrors"`          // advertisements that the kernel refused, for some of the peers at least
	Received        uint64            `json:"advertsReceived"`           // advertisements taken into account
	Rejected        map[string]uint64 `json:"advertsRejected"`           // what arrived and was not taken into account, by reason
	Resigned        uint64            `json:"resignationsSent"`          // of those that left: with priority 0
	Resignations    uint64            `json:"resignationsReceived"`      // of those taken into account: with priority 0
	Transitions     uint64            `json:"transitions"`               // changes of state
	Takeovers       uint64            `json:"takeovers"`                 // times this node became Active
	Rivals          uint64            `json:"rivals"`                    // advertisements of a rival heard while Active
	MembersRejected map[string]uint64 `json:"membersRejected,omitempty"` // as Rejected, of the members' messages
	Granted         uint64            `json:"granted"`                   // times the address was passed on to this node
	PassedOn        uint64            `json:"passedOn"`                  // times this node has passed the address on
}
