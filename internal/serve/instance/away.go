package instance

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

// errMoved ends a term whose place is another one now.
var errMoved = code.With(code.PlaceChanged, errors.New("the interface or the node's own address is another one"))

// absence is a link that is gone, and what a holder waits for then. It belongs to the goroutine of run.
type absence struct {
	over  *time.Timer // the waiting is
	until time.Time   // when a holder waits for it; zero while it is there
	cut   error       // what ends the term when that is over
}

// stay has the service follow what has changed of the host, and tells why the term has to end: another interface, another own
// address, or none; nil if it goes on.
func (i *instance) stay(now time.Time) error {
	v := i.shared.now()
	p, err := v.cfg.Place()
	switch {
	case err != nil:
		return i.away.cutOff(now, &v, err)
	case p.Index != v.place.Index || p.Source != v.place.Source || p.Elsewhere != v.place.Elsewhere || p.Bearer != v.place.Bearer:
		return errMoved
	}
	i.away.back()
	i.shared.change(func(v *view) { v.place = p })
	v.service.HostChanged(p)
	return nil
}

// cutOff tells whether a node without a link has to leave the election now. What a holder sends does not leave, whatever the
// election believes, so the lease that counts is the one at the moment when the link went. Within half of it a holder may come
// back: its next advertisement then still leaves before another node's Active_Down_Timer expires, even if the last one had not.
// The service is left alone meanwhile.
func (a *absence) cutOff(now time.Time, v *view, why error) error {
	a.cut = linkGone(why)
	if a.until.IsZero() {
		end := v.elector.LeaseEnd()
		if v.state != election.Active || !now.Before(end) {
			return a.cut
		}
		a.until = end.Add(-v.cfg.Lease / 2)
		a.over.Reset(time.Until(a.until))
	}
	if now.Before(a.until) {
		return nil
	}
	return a.cut
}

// back ends the waiting for a link.
func (a *absence) back() {
	a.until = time.Time{}
	a.over.Stop()
}

// linkGone is ErrCutOff with what is missing, and its code.
func linkGone(why error) error {
	return code.With(cmp.Or(code.Of(why), code.LinkDown), fmt.Errorf("%w: %w", election.ErrCutOff, why))
}
