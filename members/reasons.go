package members

import "github.com/keepvip/keepvip/members/envelope"

// Reason says in a word, for a metric's label, why a message was refused.
type Reason = envelope.Reason

// Those of the envelope's reasons that a caller decides by.
const (
	RejectVersion  = envelope.RejectVersion
	RejectTTL      = envelope.RejectTTL
	RejectUnsigned = envelope.RejectUnsigned
	RejectKey      = envelope.RejectKey
	RejectMAC      = envelope.RejectMAC
	RejectStale    = envelope.RejectStale
	RejectReplay   = envelope.RejectReplay
	RejectPeer     = envelope.RejectPeer
)
