package vrrp

import "fmt"

// The values of PacketError.Reason: short, constant, fit for a metric's label.
const (
	RejectTTL       = "ttl"
	RejectVersion   = "version"
	RejectType      = "type"
	RejectLength    = "length"
	RejectVRID      = "vrid"
	RejectCount     = "count"
	RejectInterval  = "interval"
	RejectChecksum  = "checksum"
	RejectAuth      = "auth"
	RejectFamily    = "family"
	RejectAddresses = "addresses"
	RejectSigned    = "signed" // an authentication trailer where none is configured

	// With HMAC authentication, in the order of the checks.
	RejectUnsigned = "missing"
	RejectKey      = "key-id"
	RejectStale    = "stale"
	RejectMAC      = "hmac"
	RejectReplay   = "replay"
)

// PacketError says why a packet that was received is discarded (RFC 9568, section 7.1). It does not mean that the
// socket is broken: count it by Reason and go on with the next packet.
type PacketError struct {
	Reason    string // one of the Reject constants
	Got, Want int    // both 0 where numbers say nothing (an authentication failure)
}

// Error returns what was got, then what was wanted.
func (e *PacketError) Error() string {
	switch e.Reason {
	case RejectTTL:
		return fmt.Sprintf("vrrp: TTL %d, want %d", e.Got, e.Want)
	case RejectVRID:
		return fmt.Sprintf("vrrp: VRID %d, want %s", e.Got, wantVRID(e.Want))
	case RejectCount:
		return fmt.Sprintf("vrrp: address count %d, want at least %d", e.Got, e.Want)
	case RejectChecksum:
		return fmt.Sprintf("vrrp: checksum 0x%04x, want 0x%04x", e.Got, e.Want)
	case RejectInterval:
		return "vrrp: advertisement interval " + wantInterval(e.Got, e.Want)
	case RejectAuth:
		if e.Got == e.Want {
			return "vrrp: authentication data differ from the configured"
		}
		return fmt.Sprintf("vrrp: authentication type %d, want %d", e.Got, e.Want)
	case RejectKey:
		return fmt.Sprintf("vrrp: authentication with key id %d, which is not configured", e.Got)
	case RejectStale:
		return fmt.Sprintf("vrrp: made %ds from our time, want at most %ds", e.Got, e.Want)
	case RejectReplay:
		return fmt.Sprintf("vrrp: sequence %ds before the sender's last, want a greater one", e.Got)
	case RejectFamily:
		return fmt.Sprintf("vrrp: address family IPv%d, want IPv%d", e.Got, e.Want)
	}
	if text, ok := plainReasons[e.Reason]; ok {
		return text
	}
	return fmt.Sprintf("vrrp: %s %d, want %d", e.Reason, e.Got, e.Want)
}

// plainReasons are the messages that need no numbers.
var plainReasons = map[string]string{
	RejectAddresses: "vrrp: none of the advertised addresses is ours",
	RejectSigned:    "vrrp: an authentication trailer, want none: no key is configured",
	RejectUnsigned:  "vrrp: no authentication trailer, want one",
	RejectMAC:       "vrrp: authentication code differs (another key with this id, or a changed packet)",
}

func wantVRID(want int) string {
	if want == 0 {
		return "1 to 255"
	}
	return fmt.Sprint(want)
}

// wantInterval words both forms of RejectInterval: an interval of 0, which no version allows, and a VRRPv2 interval in
// seconds that differs from ours.
func wantInterval(got, want int) string {
	if got == 0 {
		return "0, want at least 1"
	}
	return fmt.Sprintf("%ds, want %ds", got, want)
}
