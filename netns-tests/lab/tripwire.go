package lab

import (
	"fmt"
	"time"
)

// Tripwire does something as soon as the switch sees a certain frame.
type Tripwire struct {
	capture *capture
	match   func(RecordedFrame) bool
	act     func() error
	tripped chan struct{} // closed when act has returned

	sprung bool // of the capture's thread; the others are read after tripped
	at     time.Duration
	err    error
}

// Trip calls act once, in the thread that watches, as soon as a node sends a frame to a group that matches. The frame itself is
// on its way: whoever has another processor may have it before act has done anything.
func (l *Lab) Trip(match func(RecordedFrame) bool, act func() error) (*Tripwire, error) {
	t := &Tripwire{match: match, act: act, tripped: make(chan struct{})}
	var err error
	t.capture, err = l.startCapture(func(f RecordedFrame) { t.note(l, f) })
	return t, err
}

func (t *Tripwire) note(l *Lab, f RecordedFrame) {
	if t.sprung || f.Data[0]&1 == 0 || !t.match(f) {
		return
	}
	t.sprung = true
	t.err = t.act()
	t.at = l.Now()
	close(t.tripped)
}

// Wait ends the watch when act has returned, or after the limit, which is an error. It returns when that was.
func (t *Tripwire) Wait(limit time.Duration) (time.Duration, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-t.tripped:
	case <-timer.C:
	}
	t.capture.finish()
	if !t.sprung {
		return 0, fmt.Errorf("lab: the frame that was waited for did not come within %v", limit)
	}
	return t.at, t.err
}
