package agent

import (
	"errors"
	"time"

	"github.com/keepvip/keepvip/election"
)

// errMoved ends a term whose place is another one now.
var errMoved = errors.New("the interface or the node's own address is another one")

// moved tells why the election has to begin anew: another interface, another own address, or none; nil if it goes on.
// Anything else that is new is followed.
func (l *loop) moved(now time.Time) error {
	p, err := l.host.Place(l.in.Where)
	switch {
	case err != nil:
		return l.cutOff(now)
	case p.Index != l.place.Index || p.Source != l.place.Source:
		return errMoved
	}
	l.away = time.Time{}
	if p != l.place {
		l.settleIn(now, p)
	}
	return nil
}

// cutOff tells whether a node without a link has to leave the election now. What a holder sends does not leave, whatever the
// election believes, so the lease that counts is the one at the moment when the link went. Within half of it a holder may come
// back: its next advertisement then still leaves before another node's Active_Down_Timer expires, even if the last one had not.
func (l *loop) cutOff(now time.Time) error {
	if l.away.IsZero() {
		if !l.holdsLease() {
			return election.ErrCutOff
		}
		l.away = l.elector.LeaseEnd().Add(-l.in.Lease / 2)
	}
	if now.Before(l.away) {
		return nil
	}
	return election.ErrCutOff
}

// awayDue tells the same when the time is over.
func (l *loop) awayDue(now time.Time) error {
	if l.away.IsZero() || now.Before(l.away) {
		return nil
	}
	return election.ErrCutOff
}

// listenFirst keeps a holder whose link was gone from announcing until it would have heard another node that has taken over: an
// interval, and half of one for what is late. Without that its announcement could pull clients to a node that is about to yield.
func (l *loop) listenFirst(now time.Time) { l.announceFrom = now.Add(l.in.Lease / 2) }
