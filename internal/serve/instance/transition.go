package instance

import (
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

// Transition is one change of this node's role, or of who holds the address, as seen from this node. Every node has its own of each move:
// the holder before, the one after, and those that only hear of it. With Fault it is no move: something has begun, or ended, that keeps the
// address from being served, and the role and the holder are what they were.
type Transition struct {
	At   time.Time `json:"at"`
	Name string    `json:"vip"` // of the entry of vips

	// This node's state before and after: initialize, backup or active. They are the same where another node became the holder.
	From string `json:"from"`
	To   string `json:"to"`
	// Who had the address before, and who has it from now on; the zero Node for nobody, or nobody that is known. Where the address was
	// away first, OldHolder of the transition that ends this is the last one that had it.
	OldHolder election.Node `json:"oldHolder,omitzero"`
	NewHolder election.Node `json:"newHolder,omitzero"`

	Code        code.Code `json:"code"`              // the first cause, as far as it is known; empty if it is not
	Reason      string    `json:"reason"`            // what that made of this node, a short clause that an operator reads
	Cause       string    `json:"cause,omitempty"`   // why the old holder has lost it, as it said itself or as it looked from here
	AskedBy     string    `json:"askedBy,omitempty"` // "uid 0 on n1"
	AwaySeconds float64   `json:"awaySeconds"`       // for how long nobody held the address, as heard here; 0 if somebody did throughout
	Fault       string    `json:"fault,omitempty"`   // out: this node is in no election; silent: Active, and its kernel keeps it from answering; blocked: no node can hold the address
	Over        bool      `json:"over,omitempty"`    // the fault has ended
}

// moved tells of a transition.
func (in *Config) moved(t Transition) {
	if in.Moved != nil {
		in.Moved(t)
	}
}

// transition is what a decision makes of a node that had that state, and knew that holder. It is pure.
func transition(name string, state election.State, holder netip.Addr, d election.Decision) Transition {
	t := Transition{
		At: d.At, Name: name, From: state.String(), To: d.Role.State().String(), OldHolder: d.From, NewHolder: d.To,
		Code: d.Code, Reason: d.Reason, Cause: d.Cause, AskedBy: d.AskedBy, AwaySeconds: d.Away.Seconds(),
	}
	if t.OldHolder == (election.Node{}) {
		t.OldHolder.Address = holder
	}
	if t.NewHolder == (election.Node{}) {
		t.NewHolder.Address = d.Holder
	}
	return t
}
