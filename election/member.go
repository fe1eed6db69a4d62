package election

import (
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
)

// State is a node's part in the election (RFC 9568, section 6.3; Raft's states are mapped to these).
type State uint8

// The states. Initialize also stands for a node that keeps out of the election. The numbers of the first three are
// those of a Virtual Router.
const (
	Initialize State = iota
	Backup
	Active
	// Silent is another node of which nothing is heard any more.
	Silent
)

var stateNames = [...]string{"initialize", "backup", "active", "silent"}

// String returns the name that status shows.
func (s State) String() string { return stateNames[s] }

// MarshalText implements encoding.TextMarshaler.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. A state that only a newer keepvip has is Initialize.
func (s *State) UnmarshalText(text []byte) error {
	*s = State(max(slices.Index(stateNames[:], string(text)), 0))
	return nil
}

// Member is one node of the group as this node sees it. Its JSON form is part of the status. Priority is as last
// advertised, and 0 when it resigned. State is Active while its advertisements arrive.
type Member struct {
	Address   netip.Addr `json:"address"`
	Self      bool       `json:"self"`
	Priority  uint8      `json:"priority"`
	State     State      `json:"state"`              // initialize, backup, active, or silent: nothing is heard of it since LastHeard
	Was       string     `json:"was,omitempty"`      // the state of one that is silent, when it was heard last
	LastHeard time.Time  `json:"lastHeard,omitzero"` // absent for this node, and for one that was never heard
	Note      string     `json:"note,omitempty"`     // what is odd about it
	Witness   bool       `json:"witness,omitempty"`  // it votes and never holds the address

	// What it says itself, if it speaks more than VRRP.
	Node    string    `json:"node,omitempty"`
	Version string    `json:"version,omitempty"` // of its software
	Fit     *bool     `json:"fit,omitempty"`
	Unfit   string    `json:"unfit,omitempty"` // why it is not fit
	Code    code.Code `json:"code,omitempty"`  // of Unfit

	NoCandidate bool `json:"noCandidate,omitempty"` // it never holds the address, and takes part in everything else
	Lifeline    bool `json:"lifeline,omitempty"`    // the end of its process is heard here in the moment in which it comes

	Unheard  bool `json:"-"` // it speaks VRRP alone and does not advertise (any more): it is a Backup, or gone
	Draining bool `json:"-"` // it drains the connections that it had when it passed the address on
	// Spread is how it takes part in spreading the load of the address; nil: it does not. A member that is Silent keeps
	// what it said last: its host, with the connections there, may live on. A member that has said good-bye is none.
	Spread *Spread `json:"-"`
}

// Speaks tells whether the member says more than VRRP does.
func (m *Member) Speaks() bool { return m.Fit != nil }

// SaysFit tells whether the member says that it would be a good holder.
func (m *Member) SaysFit() bool { return m.Fit != nil && *m.Fit }

// OnLink is the member's own address on the link of the virtual addresses, without a zone.
func (m *Member) OnLink() netip.Addr {
	if m.Spread != nil && m.Spread.Address.IsValid() {
		return m.Spread.Address
	}
	return m.Address.WithZone("")
}

// Silence notes that nothing is heard of the member any more. What it has said stays.
func (m *Member) Silence() {
	if m.State != Silent {
		m.State, m.Was = Silent, m.State.String()
	}
}

// Unwell tells that the member is not fit, though it should be. A member that never holds the address is not fit for
// that reason alone.
func (m *Member) Unwell() bool {
	return m.Fit != nil && !*m.Fit && !m.Witness && m.Code != code.NoCandidate
}

// String is as that of its Node.
func (m *Member) String() string { return Node{m.Address, m.Node}.String() }
