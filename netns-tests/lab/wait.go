package lab

import (
	"context"
	"time"
)

// pauseFor waits, and tells whether ctx goes on after that.
func pauseFor(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// comes tells whether something is so within the limit. It looks again and again, with a pause in between.
func comes(limit, pause time.Duration, is func() bool) bool {
	for end := time.Now().Add(limit); ; time.Sleep(pause) {
		switch {
		case is():
			return true
		case time.Now().After(end):
			return false
		}
	}
}
