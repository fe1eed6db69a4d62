package members

import (
	"encoding/binary"
	"net/netip"
	"time"
)

// lifetime survives the loss of two HELLOs in a row.
func lifetime(every time.Duration) time.Duration { return 3*every + every/2 }

// Every is the time between two HELLOs of a member whose messages have that lifetime.
func Every(lifetime time.Duration) time.Duration { return lifetime * 2 / 7 }

// repeats are when a change is said again, because any message may be lost.
var repeats = [...]time.Duration{20 * time.Millisecond, 60 * time.Millisecond}

// hello says when to speak.
type hello struct {
	due    time.Time // zero: nothing was ever said
	change time.Time // when our state changed last
	said   int       // how often the change was said
	last   time.Time // when something was said last
	news   bool      // who is missing has changed since
	told   time.Time // when such a change was said last
}

// answerGap is the least time between two HELLOs that answer another.
const answerGap = 10 * time.Millisecond

// missingGap is the least time between two HELLOs that say that others are missing than before.
const missingGap = 20 * time.Millisecond

// isDue tells whether a HELLO is to be said now.
func (h *hello) isDue(now time.Time) bool { return !h.due.IsZero() && !now.Before(h.due) }

// along makes a HELLO due now, unless one was said at this time already: it tells whether it is.
func (h *hello) along(now time.Time) bool {
	if !now.After(h.last) {
		return false
	}
	h.due = now
	return true
}

// answer makes the next HELLO due as soon as the last one is that long ago.
func (h *hello) answer(now time.Time) { h.due = sooner(h.due, later(now, h.last.Add(answerGap))) }

// changed makes the next HELLO due now, and its repetitions soon.
func (h *hello) changed(now time.Time) { h.due, h.change, h.said = now, now, 0 }

// missing is changed for who is missing, which attackers can change with each packet: at once, but not twice within missingGap.
func (h *hello) missing(now time.Time) {
	at := later(now, h.told.Add(missingGap))
	h.due, h.change, h.said, h.news = sooner(h.due, at), at, 0, true
}

// met answers a newcomer soon, but lets HELLOs of several newcomers be one.
func (h *hello) met(now time.Time) {
	if !h.due.IsZero() {
		h.due = sooner(h.due, now.Add(repeats[0]))
	}
}

func (h *hello) deadline() time.Time { return h.due }

// sent sets the next time: regular, unless a change is still to be repeated.
func (h *hello) sent(now, regular time.Time) {
	h.due, h.last = regular, now
	if h.news {
		h.news, h.told = false, now
	}
	if h.said < len(repeats) {
		h.due = h.change.Add(repeats[h.said])
		h.said++
	}
}

// nextHello is when a group that has said HELLO now says it again: at most every later. Groups that speak seldom, because there
// are many of them, do so at whole seconds, which they share out by their addresses: a node wakes up once for many messages,
// but few enough for the others' buffers. The wall clock only says which second; when it is stepped, one HELLO comes sooner.
func nextHello(now time.Time, every time.Duration, group netip.Addr) time.Time {
	seconds := int64(every / time.Second)
	if seconds < 2 {
		return now.Add(every)
	}
	first := now.Truncate(time.Second).Unix() + 1
	bytes := group.As16()
	share := int64(binary.BigEndian.Uint32(bytes[12:])) % seconds
	at := first + (share-first%seconds+seconds)%seconds
	return now.Add(time.Unix(at, 0).Sub(now.Round(0)))
}
