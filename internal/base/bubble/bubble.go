// Package bubble runs tests in virtual time, as testing/synctest does, with the race detector too. Nothing but tests imports it, and it
// starts no goroutine.
package bubble

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
)

// Test is [synctest.Test]. Under the race detector all goroutines of the process share one processor while a bubble lives: Go 1.26 keeps one
// context of the detector for all timers of a bubble, and two goroutines that receive from timers which are due corrupt it when they do so at
// the same moment. The process then ends with SIGSEGV. Such a context has to be used by one thread at a time.
func Test(t *testing.T, f func(*testing.T)) {
	t.Helper()
	if raceDetector {
		bubbles.enter()
		defer bubbles.leave()
	}
	synctest.Test(t, f)
}

var bubbles processors

// processors gives Go's processors back when the last of the bubbles that live beside each other has ended.
type processors struct {
	mu     sync.Mutex
	inside int // bubbles that live
	before int // GOMAXPROCS without a bubble
}

func (p *processors) enter() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inside == 0 {
		p.before = runtime.GOMAXPROCS(1)
	}
	p.inside++
}

func (p *processors) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inside--; p.inside == 0 {
		runtime.GOMAXPROCS(p.before)
	}
}
