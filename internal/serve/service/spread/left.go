package spread

import (
	"time"

	"github.com/keepvip/keepvip/internal/kernel/spreadtables"
)

// left are the clients of connections that this node has ended because the address leaves.
type left struct {
	clients []spreadtables.Client
	until   time.Time // when they were told for the last time
}

// tellLeftAfter is when they are told again, one time after the other. Of many connections the last ones are ended when the fence is shut, and what
// tells their clients does not leave; soon the address has gone, and nothing is shut any more.
var tellLeftAfter = [...]time.Duration{300 * time.Millisecond, 700 * time.Millisecond}

// release ends all connections that are translated here.
func (v *server) release(now time.Time) {
	v.left = left{clients: v.kernel.endAll(), until: now}
	if len(v.left.clients) == 0 {
		return
	}
	for _, wait := range tellLeftAfter {
		v.left.until = v.left.until.Add(wait)
	}
	v.tell(v.left.clients, tellLeftAfter[:])
}

// tellRest tells them now who were to be told later: this service ends, and the address has gone.
func (v *server) tellRest(now time.Time) {
	if !now.Before(v.left.until) {
		return
	}
	if err := v.host.Poke(v.left.clients); err != nil {
		v.log.Debug("some clients are not told", "error", err)
	}
}
