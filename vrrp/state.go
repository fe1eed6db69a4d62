package vrrp

import "strconv"

// State is a Virtual Router's state (RFC 9568, section 6.3). The zero value is Initialize.
type State uint8

// The states of RFC 9568, section 6.3. Active was called Master before.
const (
	Initialize State = iota
	Backup
	Active
)

// String returns "initialize", "backup" or "active".
func (s State) String() string {
	switch s {
	case Initialize:
		return "initialize"
	case Backup:
		return "backup"
	case Active:
		return "active"
	}
	return "state(" + strconv.Itoa(int(s)) + ")"
}

// Reason says in a short clause, for an operator to read, why a state was entered.
type Reason string

// The reasons that a Machine gives.
const (
	ReasonStarted        Reason = "started"
	ReasonOwner          Reason = "started as the address owner (priority 255)"
	ReasonSilence        Reason = "no advertisement heard for the Active_Down_Interval"
	ReasonPriorityZero   Reason = "the Active gave up (priority 0 heard)"
	ReasonGone           Reason = "the process of the Active has ended"
	ReasonNodeGone       Reason = "the node of the Active is gone"
	ReasonDeaf           Reason = "nothing arrives at the Active"
	ReasonPreempt        Reason = "the Active has a lower priority"
	ReasonHigherPriority Reason = "higher priority heard"
	ReasonHigherAddress  Reason = "equal priority and higher address heard"
	ReasonSplit          Reason = "another node holds the addresses, and does not hear this one"
	ReasonPassedOn       Reason = "passed on to another node"
	ReasonGranted        Reason = "passed on by the Active"
	ReasonFrozen         Reason = "own advertisement late by more than the Active_Down_Interval"
	ReasonShutdown       Reason = "shut down"
)
