package envelope

import "fmt"

// Reason says in a word, for a metric's label, why a message was refused.
type Reason string

// The reasons.
const (
	RejectLength   Reason = "length"   // shorter or longer than it says
	RejectMagic    Reason = "magic"    // not ours
	RejectVersion  Reason = "version"  // another version of the format
	RejectType     Reason = "type"     // a type that this version does not know
	RejectField    Reason = "field"    // a field is missing, twice there, or not valid
	RejectTTL      Reason = "ttl"      // came through a router
	RejectPort     Reason = "port"     // from a port that anybody may send from
	RejectUnsigned Reason = "unsigned" // a key is wanted, and there is no authentication code
	RejectKey      Reason = "key"      // made with another key
	RejectMAC      Reason = "mac"      // the authentication code is wrong
	RejectStale    Reason = "stale"    // of a new sender whose clock is too far from ours
	RejectReplay   Reason = "replay"   // heard before, or older than what was heard
	RejectPeer     Reason = "peer"     // the sender is none of the configured peers
	RejectGroup    Reason = "group"    // of a group that this node is not in
	RejectSocket   Reason = "socket"   // the socket could not be read
	RejectOverflow Reason = "overflow" // came in faster than it was read
	RejectFull     Reason = "full"     // of a follower: there are as many subscribers as there may be
	RejectFlood    Reason = "flood"    // of followers: more came than is looked at
	RejectSession  Reason = "session"  // to a follower: answers nothing that was asked
)

// PacketError says why a message was refused.
type PacketError struct {
	Reason    Reason
	Field     string // of RejectField
	Got, Want int    // where numbers say more
}

// Error implements error.
func (e *PacketError) Error() string {
	switch {
	case e.Field != "":
		return fmt.Sprintf("members: field %s: missing, repeated or not valid", e.Field)
	case e.Got != 0 || e.Want != 0:
		return fmt.Sprintf("members: %s %d, want %d", e.Reason, e.Got, e.Want)
	}
	return "members: message refused: " + string(e.Reason)
}

// BadField refuses a field that is missing, repeated or not valid.
func BadField(name string) error { return &PacketError{Reason: RejectField, Field: name} }

// Refused refuses a message for a reason that says enough.
func Refused(r Reason) error { return &PacketError{Reason: r} }
