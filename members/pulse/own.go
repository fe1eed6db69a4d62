package pulse

import (
	"time"

	"github.com/keepvip/keepvip/internal/base/worst"
)

// ownBeat is what this node says of itself: that it is there, while it holds an address whose others watch it.
type ownBeat struct {
	on     bool
	number uint32
	due    time.Time
}

// turn begins the beats, or ends them: the last one says so.
func (b *ownBeat) turn(now time.Time, on bool) action {
	if on == b.on {
		return nil
	}
	b.on, b.due = on, now
	if on {
		return nil
	}
	return b.next(true)
}

// whenDue is a beat, if one is due. One that is late moves those after it: the others know by its number that none was lost.
func (b *ownBeat) whenDue(now time.Time) action {
	if !b.on || now.Before(b.due) {
		return nil
	}
	if b.due = b.due.Add(Every); !b.due.After(now) {
		b.due = now.Add(Every)
	}
	b.due = b.due.Add(-time.Duration(b.due.UnixNano() % int64(Every))) // when the clock is stepped, one comes sooner
	return b.next(false)
}

func (b *ownBeat) next(last bool) action {
	b.number++
	return send{Message{Type: Beat, Number: b.number, Every: Every, Last: last}}
}

// delays are how late things were here in the last minute, and so for how long to wait.
type delays struct {
	late worst.Lately // own wakeups, and beats
	took worst.Lately // answers to echoes
}

// wait is for how long a beat may be late, as of now: twice what was the worst.
func (d *delays) wait(now time.Time) time.Duration { return max(LeastWait, 2*d.late.Worst(now)) }

// settle is how long the answer to an echo may take.
func (d *delays) settle(now time.Time) time.Duration { return max(echoGap, 2*d.took.Worst(now)) }
