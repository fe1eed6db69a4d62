package election

import (
	"context"
	"errors"

	"github.com/keepvip/keepvip/internal/base/code"
)

// What a handover may return.
var (
	ErrNotActive = errors.New("this node does not hold the address")
	ErrNoTaker   = errors.New("no other node could take the address")
	ErrTimeout   = errors.New("the address was not taken in time")
)

// ErrCutOff is the cause ([context.Cause]) by which the context of [Elector.Run] ends when this node's link is gone: there is nobody to
// whom the address could be passed on, and when the link is back another node may hold it.
var ErrCutOff = errors.New("the link is gone")

// Ended is why an elector stops whose context has ended by that cause, and the clause that says so. What has no code of its own
// ([code.Of]) is that the process stops.
func Ended(cause error) (c code.Code, reason string) {
	switch c = code.Of(cause); {
	case c != "":
		return c, cause.Error()
	case errors.Is(cause, ErrCutOff):
		return code.LinkDown, cause.Error()
	}
	return code.Stopping, "stopping"
}

// askedToHandOver is the reason of a holder that an operator tells to pass the address on, as every node logs it. Only uid 0 may ask.
func askedToHandOver(to string) string {
	if to == "" {
		return "uid 0 asked for a handover"
	}
	return "uid 0 asked for a handover to " + to
}

// AskedToDrill is the reason of a node that is made to fail on purpose. Only uid 0 may ask.
func AskedToDrill(kind string) string { return "uid 0 asked for a drill (" + kind + ")" }

// NoCandidate is why a node that is none is no good holder.
const NoCandidate = "it is a member, and no candidate"

// AskedBack is the reason of a holder that gives the address back to the node that had it before a drill.
const AskedBack = "the drill is over: the address goes back"

type whyKey struct{}

// why is what a holder gives the address away for.
type why struct {
	code   code.Code
	reason string
}

// Because makes reason, with its code, that for which the address is given away by what is called with the context.
func Because(ctx context.Context, c code.Code, reason string) context.Context {
	return context.WithValue(ctx, whyKey{}, why{c, reason})
}

// HandoverReason is that of a context; without one an operator has asked for a handover to that node.
func HandoverReason(ctx context.Context, to string) (c code.Code, reason string) {
	if w, ok := ctx.Value(whyKey{}).(why); ok {
		return w.code, w.reason
	}
	return code.Handover, askedToHandOver(to)
}
