package address

import (
	"slices"
	"time"

	"github.com/keepvip/keepvip/internal/kernel/fence"
)

// Spread are ports that each member serves: a packet for one of them is translated to an own address of the node that gets it, and what that
// answers is translated back. So a connection there is none of the addresses' own here: it is not reset when they go, and not forwarded to a
// node that drains.
type Spread struct {
	Ports []fence.Port // with an end: it is not spread any more, and its packets pass the fence until then
	// Fenced: the holder alone translates them, so their packets are fenced as all others are.
	Fenced bool
	// Until tells until when the kernel translates if this process does nothing more; the zero Time: not known yet. Any goroutine may ask.
	// The fence lets packets of the ports pass for as long.
	Until func() time.Time
}

func (p *Part) spreadPorts() []fence.Port {
	if p.Spread == nil {
		return nil
	}
	return p.Spread.Ports
}

// lastingPorts are those that go on to be spread.
func (p *Part) lastingPorts() []fence.Port {
	return slices.DeleteFunc(slices.Clone(p.spreadPorts()), func(p fence.Port) bool { return !p.Ends.IsZero() })
}

// spreadStep is by how much the end of translation has to have moved for the fence to follow: each time is a transaction.
const spreadStep = time.Second

// followSpread goes by another configuration.
func (s *fenceState) followSpread(of *Spread) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spread = of
}

// keepSpread lets packets of spread ports pass for as long as they are translated. What has passed before passes until its own end.
func (w *fenceWorker) keepSpread() {
	w.mu.Lock()
	of := w.spread
	w.mu.Unlock()
	if of == nil {
		return
	}
	until := of.Until()
	if until.Sub(w.spreadUntil) < spreadStep {
		return
	}
	if err := w.fence.SpreadUntil(until); err != nil {
		w.debug(err)
		return
	}
	w.spreadUntil = until
}
