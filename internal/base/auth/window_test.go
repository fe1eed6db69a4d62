package auth

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

var epoch = time.Unix(1_800_000_000, 0)

// at is a packet that was made and that arrived so long after the epoch, when our clock was right.
func at(made, arrived time.Duration) packet {
	return packet{
		Sequence: uint64(epoch.Add(made).UnixNano()), Made: epoch.Add(made), At: epoch.Add(arrived), Clock: epoch.Add(arrived),
	}
}

// ahead returns p as if our clock had shown so much more.
func (p packet) ahead(by time.Duration) packet {
	p.Clock = p.Clock.Add(by)
	return p
}

func (w *window[S]) take(s S, p packet) Judgement {
	v, _ := w.judge(s, p)
	if v == Fresh {
		w.note(s, p)
	}
	return v
}

const s = time.Second

func TestWindow(t *testing.T) {
	for _, tt := range []struct {
		name    string
		packets []packet
		want    Judgement // of the last; those before are fresh
	}{
		{"the first, at once", []packet{at(0, 0)}, Fresh},
		{"the first, a little old", []packet{at(0, 10*s)}, Fresh},
		{"the first, older than the width", []packet{at(0, 10*s+1)}, Stale},
		{"the first, farther ahead than the width", []packet{at(10*s+1, 0)}, Stale},
		{"again", []packet{at(0, 0), at(0, 0)}, Repeated},
		{"an earlier one", []packet{at(2*s, 2*s), at(1*s, 2*s)}, Repeated},
		{"two of one moment", []packet{at(0, 0), at(1, 1)}, Fresh},
		{"late by the width", []packet{at(0, 0), at(1*s, 11*s)}, Fresh},
		{"later than the width", []packet{at(0, 0), at(1*s, 5*s), at(2*s, 13*s)}, Stale},
		{"the sender's clock is set on", []packet{at(0, 0), at(3600*s, 1*s), at(3601*s, 2*s)}, Fresh},
		{"the sender's clock is set back: its sequence grows by ones", []packet{at(0, 0), at(1, 5*s), at(2, 9*s)}, Fresh},
		{"our clock is set on", []packet{at(0, 0), at(1*s, 1*s).ahead(3600 * s), at(2*s, 2*s).ahead(3600 * s)}, Fresh},
		{"our clock is set back", []packet{at(0, 0), at(1*s, 1*s).ahead(-3600 * s), at(2*s, 2*s).ahead(-3600 * s)}, Fresh},
		{"our clock is set on, and the sender late", []packet{at(0, 0), at(1*s, 4*s).ahead(3600 * s)}, Stale},
		{"the sender stood still for an hour", []packet{at(0, 0), at(1*s, 3601*s), at(2*s, 3602*s)}, Fresh},
		{"it stood still, and is later than that", []packet{at(0, 0), at(1*s, 10*s), at(2*s, 21*s)}, Stale},
		{"one that never had our time stood still", []packet{at(0, 5*s), at(1*s, 3606*s)}, Stale},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWindow[string](10 * s)
			var got []Judgement
			for _, p := range tt.packets {
				got = append(got, w.take("a", p))
			}
			for _, v := range got[:len(got)-1] {
				assert.Equal(t, Fresh, v, "%v", got)
			}
			assert.Equal(t, tt.want, got[len(got)-1], "%v", got)
			assert.Equal(t, Fresh, w.take("b", at(9000*s, 9000*s)), "another sender has a sequence of its own")
		})
	}
}

// What was captured of a sender is played to a node that has just started, after the sender died: as it was, or each packet as
// late as the node just waits for it.
func TestWindowBoundsWhatACaptureCounts(t *testing.T) {
	const (
		width, captured = 10 * s, 59 * s
		interval        = 100 * time.Millisecond
	)
	for _, slower := range []time.Duration{10, 11, 33, 36} { // tenths
		for _, begins := range []time.Duration{0, 1 * s, 9 * s, 30 * s, 50 * s} { // the first one that is played
			w := newWindow[string](width)
			counted := time.Duration(0)
			now := captured
			for made := begins; made <= captured; made += interval {
				if w.take("dead", at(made, now)) == Fresh {
					counted = now - captured
				}
				now += interval * slower / 10
			}
			assert.LessOrEqual(t, counted, width+tolerance+interval*4, "slower %d, from %v", slower, begins)
		}
	}
}

// Without anything that sets the clocks they drift apart for years.
func TestWindowFollowsDrift(t *testing.T) {
	for _, ppm := range []time.Duration{-500, 500} {
		w := newWindow[string](10 * s)
		for now := time.Duration(0); now < 60*24*time.Hour; now += 10 * s {
			if v := w.take("a", at(now+now/1_000_000*ppm, now)); v != Fresh {
				assert.Equal(t, Fresh, v, "%d ppm, after %v", ppm, now)
				break
			}
		}
	}
}

func TestWindowForgetsOnlyWhoseWordsAreStale(t *testing.T) {
	w := newWindow[int](10 * s)
	ahead := at(9*s, 0)
	assert.Equal(t, Fresh, w.take(0, ahead))
	for i := range 3 * maxSenders {
		now := time.Duration(i+1) * 10 * time.Millisecond
		w.take(i+1, at(now, now))
		v, _ := w.judge(0, packet{Sequence: ahead.Sequence, Made: ahead.Made, At: epoch.Add(now), Clock: epoch.Add(now)})
		assert.NotEqual(t, Fresh, v, "%v", now)
	}
	assert.LessOrEqual(t, len(w.senders), 2*maxSenders)
}

func TestWindowSetWidthForgetsNobody(t *testing.T) {
	w := newWindow[string](10 * s)
	assert.Equal(t, Fresh, w.take("a", at(0, 0)))
	w.setWidth(time.Minute)
	assert.Equal(t, Repeated, w.take("a", at(0, 0)))
	assert.Equal(t, Fresh, w.take("b", at(0, 59*s)))
}
