package agent

import "time"

// arm sets the timer to whatever is due next.
func (l *loop) arm() {
	next, running := l.in.Schedule.Next()
	if !running {
		// What a stopped schedule returns is past, and would make the loop spin.
		next = time.Time{}
	}
	for _, t := range append(l.nextDetection(), l.reannounce.next, l.renewal, l.refence, l.fenceRetry, l.draining.next, l.forwarding.next, l.away) {
		if next.IsZero() || !t.IsZero() && t.Before(next) {
			next = t
		}
	}
	if next.IsZero() {
		l.due.Stop()
		return
	}
	l.due.Reset(time.Until(next))
}

// announceDue announces what is due; one announcement serves everything that is due at once.
func (l *loop) announceDue(now time.Time) {
	again := l.reannounce.due(now)
	if due := l.in.Schedule.Due(now); (due || again) && l.holdsLease() {
		l.send()
	}
}

// restartAnnouncing announces at once, or as soon as a node whose link was gone has listened, and begins the burst anew.
func (l *loop) restartAnnouncing() {
	now := time.Now()
	begin := now
	if begin.Before(l.announceFrom) {
		begin = l.announceFrom
	}
	l.in.Schedule.Restart(begin)
	l.announceDue(now)
}

// announceNow is what an operator asks for.
func (l *loop) announceNow() error {
	if !l.holdsLease() {
		return errNotHeld
	}
	now := time.Now()
	l.in.Schedule.Restart(now)
	l.in.Schedule.Due(now)
	return l.announceOnce()
}

// send announces once. A failure is no reason to give the address up.
func (l *loop) send() {
	if err := l.announceOnce(); err != nil {
		l.log.Warn("announcement not sent", "interface", l.place.Name, "error", err)
	}
}

func (l *loop) announceOnce() error {
	err := l.host.Announce(l.place, l.in.hosts())
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.view.announceErrs++
		return err
	}
	l.view.announcements++
	return nil
}
