package members

import "github.com/keepvip/keepvip/members/envelope"

// Reason says in a word, for a metric's label, why a message was refused.
type Reason = envelope.Reason

// PacketError says why a message was refused.
type PacketError = envelope.PacketError

// The reasons, as the envelope has them.
const (
	RejectLength   = envelope.RejectLength
	RejectMagic    = envelope.RejectMagic
	RejectVersion  = envelope.RejectVersion
	RejectType     = envelope.RejectType
	RejectField    = envelope.RejectField
	RejectTTL      = envelope.RejectTTL
	RejectPort     = envelope.RejectPort
	RejectUnsigned = envelope.RejectUnsigned
	RejectKey      = envelope.RejectKey
	RejectMAC      = envelope.RejectMAC
	RejectStale    = envelope.RejectStale
	RejectReplay   = envelope.RejectReplay
	RejectPeer     = envelope.RejectPeer
	RejectGroup    = envelope.RejectGroup
	RejectSocket   = envelope.RejectSocket
	RejectOverflow = envelope.RejectOverflow
)
