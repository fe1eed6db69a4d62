package vrrp

import (
	"net/netip"
	"time"
)

// Event is something that happened to a Virtual Router. The set is closed.
type Event interface{ event() }

// Startup starts the protocol (RFC 9568, section 6.4.1). It counts in Initialize only.
type Startup struct{}

// Shutdown stops the protocol (RFC 9568, sections 6.4.2 and 6.4.3). The Change carries Reason, or ReasonShutdown if
// that is empty.
type Shutdown struct{ Reason Reason }

// Expired says that the Deadline has passed. Too early, it does nothing. A Backup that is more than one
// Active_Adver_Interval too late was frozen: it listens for about another interval, once, before it takes over.
type Expired struct{}

// Received is an advertisement that [Parse] has accepted.
type Received struct {
	Source        netip.Addr // of the IP packet
	Advertisement Advertisement

	// Age is how long ago the kernel received the packet, 0 if that is not known. A Backup's timer counts from then,
	// but at most one Active_Adver_Interval back: an older packet shows that this process was late, not when the
	// Active was last alive.
	Age time.Duration

	// Deaf says that the router hears nothing, as it says itself by other means: it holds nothing that anybody could use. It is not yielded to,
	// and a Backup that follows it takes over as if it had given up.
	Deaf bool

	// Equals is how this router stands among those that may take over when the sender falls silent. It counts while
	// this router and the sender have the same effective priority.
	Equals Equals

	// Deferred says that the Active of lower priority that this came from is about to pass the addresses on in some
	// better way: it is followed, not preempted.
	Deferred bool
}

// Equals says that every other router is known, by other means than its advertisements, and has the Priority of this one;
// and that each of them, as the Active, sees for itself that it was silent for too long ([Config.Prompt]). Skew_Time, which
// orders routers of different priorities, orders nothing among them. The zero Equals says nothing of the kind.
type Equals struct {
	Rank int // how many of them come before this router
	Of   int // how many may take over, this router among them
}

// Claimed says that another router holds the addresses, or is about to, as is known by other means than its advertisements, none
// of which arrives. A Backup follows it, whatever its priority: the router would not hear that it is preempted. An Active
// compares, as with an advertisement, and of two one goes on.
type Claimed struct {
	Source   netip.Addr
	Priority uint8
	Interval time.Duration // its Advertisement_Interval; more than LongestInterval counts as that, with version 2 the own one counts
	Age      time.Duration // how long ago that was known
	// Deaf says that the router hears nothing of this one, so that this one has to yield to it. Lasts is for how long it is
	// followed then, if that is longer than the Active_Down_Interval.
	Deaf  bool
	Lasts time.Duration
}

// Disclaimed says that a router which was Claimed does not hold the addresses any more. A Backup that follows it waits an
// Active_Down_Interval from now.
type Disclaimed struct{ Source netip.Addr }

// PassOn makes an Active a Backup that expects another to become Active at once: it sends nothing, and its
// Active_Down_Timer runs. It does nothing in other states.
type PassOn struct{}

// Granted makes a Backup Active at once, because the Active has passed the addresses on to it. It does nothing in other
// states.
type Granted struct{}

// Gone says that the process of the Active of that address has ended, and that its kernel answers for the addresses no more. A Backup that follows
// it becomes Active at once or, Grouped, is ready to. It does nothing in other states.
type Gone struct {
	Source netip.Addr
	Node   bool // not its process alone: nothing of its node answers
}

// Assert has an Active advertise now, because another router may believe that it is gone. It does nothing in other states.
type Assert struct{}

// SetPriority changes the effective Priority, 1 to 254, as the node's health changes; 255 is taken only if it is
// configured, 0 counts as 1. An Active advertises a higher one at once, and a lower one when the next advertisement is due,
// but not within two milliseconds. A Backup's running Active_Down_Timer is computed anew from the same start. It outlives
// Shutdown, and a Reconfigure where it is not the configured Priority.
type SetPriority struct{ Priority uint8 }

// SetLast makes an Active come last, for as long as On is set: it advertises priority 1 and yields to whoever advertises more. Its timers as a
// Backup stay those of its Priority, so that it becomes Active no later where it is alone. An owner does not come last.
type SetLast struct{ On bool }

// SetTieBreakDelay sets what is added to the Active_Down_Timer of this node, so that nodes of equal priority do not take over
// at the same instant. Negative counts as 0; more than an eighth of the Active_Adver_Interval counts as that eighth. A
// running Active_Down_Timer is computed anew from the same start.
type SetTieBreakDelay struct{ Offset time.Duration }

// TakeOver makes a Backup Active that is ready to be (Snapshot.Ready); otherwise it does nothing.
type TakeOver struct{}

// Reconfigure changes the configuration without a change of state. An Active whose advertisement changes sends one at
// once, unless it is only of a lower priority ([SetPriority]). The Config must be valid and have the Version, VRID and
// family that the Machine has; one that is not does nothing (call [Config.Validate] first).
type Reconfigure struct{ Config Config }

func (Startup) event()          {}
func (Shutdown) event()         {}
func (Expired) event()          {}
func (Received) event()         {}
func (Claimed) event()          {}
func (Disclaimed) event()       {}
func (PassOn) event()           {}
func (Granted) event()          {}
func (Gone) event()             {}
func (Assert) event()           {}
func (SetPriority) event()      {}
func (SetLast) event()          {}
func (SetTieBreakDelay) event() {}
func (TakeOver) event()         {}
func (Reconfigure) event()      {}

// Action is something the caller must do, in the order given. The set is closed.
type Action interface{ action() }

// Send sends the advertisement to the group, or to each unicast peer. It must not be changed.
type Send struct{ Advertisement Advertisement }

// Change is a change of state. When it leaves Active, the host must have given up the addresses before the next action
// is carried out; when it enters Active, the host binds and announces them.
type Change struct {
	From, To State
	Reason   Reason
}

// Reannounce says that a rival, which held the addresses too, has stepped down or is about to: announce them now, and
// once more within one Advertisement_Interval, so that the last announcement on the link is ours.
type Reannounce struct{ Rival netip.Addr }

func (Send) action()       {}
func (Change) action()     {}
func (Reannounce) action() {}
