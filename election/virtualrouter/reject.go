package virtualrouter

import (
	"errors"
	"log/slog"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

// Reasons why a valid advertisement is not taken into account, beside those of vrrp.PacketError.
const (
	RejectOwn    = "own"    // our own source address
	RejectPeer   = "peer"   // unicast, from nobody on the list
	RejectSocket = "socket" // no advertisement: the socket could not be read
)

// actOn are the reasons that an operator has to do something about, and what.
var actOn = map[string]string{
	vrrp.RejectAddresses: "another cluster uses this VRID on the link; both work, but set vrrp.id to another number on one of them",
	vrrp.RejectVersion:   "set vrrp.version to the same on all routers",
	vrrp.RejectInterval:  "with version 2 the interval has to be the same on all routers",
	vrrp.RejectAuth:      "authentication has to be the same on all routers",
	vrrp.RejectUnsigned:  "the sender has no key; give it the key, or set key.mode while the key is being introduced",
	vrrp.RejectKey:       "the sender signs with a key that this node does not have; add it under key.accept",
	vrrp.RejectMAC:       "the sender has another key, or somebody forges advertisements",
	vrrp.RejectStale:     "set the clocks of the nodes, then restart keepvip on the one that was wrong",
	vrrp.RejectReplay:    "somebody replays advertisements, or the sender's clock was set back: restart keepvip on this node",
	RejectPeer:           actOnMembers[string(members.RejectPeer)],
	vrrp.RejectTTL:       actOnMembers[string(members.RejectTTL)],
	RejectSocket:         "nothing is heard on this interface; the error says why",
	vrrp.RejectSigned:    "the sender has a key; give it to this node, with key.mode receive-only at first",
}

// newRejections makes an empty record of advertisements.
func newRejections(log *slog.Logger) *election.Rejections {
	return election.NewRejections("advertisement", actOn, log).Name(codeOf)
}

// codeOf is the code of a reason why an advertisement, or a message of a member, is refused.
func codeOf(reason string) code.Code {
	switch reason {
	case vrrp.RejectAddresses:
		return code.ForeignVRID
	case vrrp.RejectVersion:
		return code.VersionDiffers
	case vrrp.RejectInterval:
		return code.IntervalDiffers
	case vrrp.RejectAuth:
		return code.AuthDiffers
	case vrrp.RejectUnsigned, string(members.RejectUnsigned):
		return code.KeyMissing
	case vrrp.RejectKey, vrrp.RejectMAC, string(members.RejectKey), string(members.RejectMAC):
		return code.WrongKey
	case vrrp.RejectStale:
		return code.Clocks
	case vrrp.RejectReplay:
		return code.Replayed
	case vrrp.RejectSigned:
		return code.KeyUnexpected
	case RejectPeer:
		return code.NotAPeer
	case vrrp.RejectTTL:
		return code.BehindRouter
	case RejectSocket:
		return code.SocketUnread
	}
	return code.Malformed
}

// memberCodeOf is the same where the members' protocol has another meaning for a word.
func memberCodeOf(reason string) code.Code {
	switch reason {
	case string(members.RejectVersion):
		return code.ProtocolDiffers
	case string(members.RejectTTL):
		return code.BehindRouter
	}
	return codeOf(reason)
}

func reasonOf(err error) string {
	var pe *vrrp.PacketError
	if errors.As(err, &pe) {
		return pe.Reason
	}
	return "other"
}
