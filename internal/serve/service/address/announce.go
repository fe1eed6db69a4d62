package address

import (
	"log/slog"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// announcer tells the link where the addresses are.
type announcer struct {
	*core
	reannounce reannouncing
	from       time.Time // not before: the link was gone, and another node may be Active
}

// next is when something is due; zero for never.
func (a *announcer) next() time.Time {
	next, running := a.cfg.Schedule.Next()
	if !running {
		return a.reannounce.next // what a stopped schedule returns is past, and would make the loop spin
	}
	return sooner(next, a.reannounce.next)
}

// due announces what is due; one announcement serves everything that is due at once.
func (a *announcer) due(now time.Time) {
	again := a.reannounce.due(now)
	if due := a.cfg.Schedule.Due(now); (due || again) && a.holdsLease() {
		a.send()
	}
}

// restart announces at once, or as soon as a node whose link was gone has listened, and begins the burst anew.
func (a *announcer) restart() {
	now := time.Now()
	a.cfg.Schedule.Restart(later(now, a.from))
	a.due(now)
}

// listenFirst keeps a holder whose link was gone from announcing until it would have heard another node that has taken over: an
// interval, and half of one for what is late. Without that its announcement could pull clients to a node that is about to yield.
func (a *announcer) listenFirst() { a.from = time.Now().Add(a.cfg.Lease / 2) }

func (a *announcer) stop() {
	a.reannounce.stop()
	a.cfg.Schedule.Stop()
}

// now is what an operator asks for.
func (a *announcer) now() error {
	if !a.holdsLease() {
		return instance.ErrNotHeld
	}
	now := time.Now()
	a.cfg.Schedule.Restart(now)
	a.cfg.Schedule.Due(now)
	return a.once()
}

// afterRival announces after a rival was heard: whoever remains Active announces last. It tells whether the rival is the first in a while.
func (a *announcer) afterRival(every time.Duration) (first bool) {
	announce, first := a.reannounce.hear(time.Now(), every)
	if announce {
		a.send()
	}
	return first
}

// heardRival is what an elector has heard.
func (a *announcer) heardRival(d election.Decision) {
	if d.Rival && a.afterRival(d.Again) {
		a.line(slog.LevelWarn, "announced again after a rival", instance.DecisionArgs(election.Serve, d)...)
	}
}

// send announces once. A failure is no reason to give the address up. What leaves when the lease is over the fence drops, as it should, and the kernel's
// error does not say so.
func (a *announcer) send() {
	switch err := a.once(); {
	case err == nil:
	case a.holdsLease():
		a.log.Warn("announcement not sent", "interface", a.place.Name, "error", err)
	default:
		a.log.Info("announcement not sent: the lease was over by then", "interface", a.place.Name, "error", err)
	}
}

func (a *announcer) once() error {
	err := a.host.Announce(a.place.Holds(), a.bindable())
	a.shown.set(func(s *shown) {
		if err != nil {
			s.status.AnnouncementFails++
		} else {
			s.status.Announcements++
		}
	})
	return err
}
