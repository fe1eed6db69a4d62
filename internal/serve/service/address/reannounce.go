package address

import "time"

const (
	// reannounceRounds is for how many intervals after the last rival the announcement is repeated: as long as a
	// router that was heard with gaps may still believe that it is Active.
	reannounceRounds = 3
	// reannounceGap keeps a rival that advertises very fast from drawing an announcement each time.
	reannounceGap = 10 * time.Millisecond
	// reannounceBurst is how many rivals draw one at once, until it was quiet; those who come after them the repeats answer, of which
	// the last comes after the last rival.
	reannounceBurst = 10
)

// reannouncing is the announcing after a rival was heard: at once, and once an interval until it is quiet.
type reannouncing struct {
	every             time.Duration
	last, next, until time.Time
	drawn             int // announcements at once
}

// hear notes a rival, and tells whether to announce at once and whether this is the first in a while.
func (i *reannouncing) hear(now time.Time, every time.Duration) (announce, first bool) {
	first = i.next.IsZero()
	if first {
		i.next, i.drawn = now.Add(every), 0
	}
	announce = first || now.Sub(i.last) >= reannounceGap && i.drawn < reannounceBurst
	i.every, i.until = every, now.Add(reannounceRounds*every)
	switch {
	case announce:
		i.last = now
		i.drawn++
		if i.next.Before(now) {
			i.next = now.Add(every)
		}
	case i.drawn < reannounceBurst: // the rival may have spoken after the last announcement
		i.next = sooner(i.next, i.last.Add(reannounceGap))
		i.drawn++
	}
	return announce, first
}

// due tells whether a repeat is due at now, and plans the one after.
func (i *reannouncing) due(now time.Time) bool {
	if i.next.IsZero() || now.Before(i.next) {
		return false
	}
	i.last, i.next = now, now.Add(i.every)
	if i.next.After(i.until) {
		i.next = time.Time{}
	}
	return true
}

func (i *reannouncing) stop() { *i = reannouncing{} }
