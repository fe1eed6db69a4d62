package daemon

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// gatheredChanges records changes. During the first one, others begin to wait.
type gatheredChanges struct {
	made [][]uint32
	meet func()
	bad  uint32 // one that is refused; 0: none
}

func (f *gatheredChanges) change(ids ...uint32) error {
	f.made = append(f.made, ids)
	if len(f.made) == 1 {
		f.meet()
	}
	if f.bad != 0 && slices.Contains(ids, f.bad) {
		return errors.New("refused")
	}
	return nil
}

func TestGatherMakesTogetherWhatWaits(t *testing.T) {
	for _, tt := range []struct {
		name string
		bad  uint32
		want int // changes
	}{
		{name: "all well", want: 2},
		{name: "one is refused, then each is tried alone", bad: 3, want: 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var g gather[uint32]
			var wg sync.WaitGroup
			errs := make([]error, 6)
			f := &gatheredChanges{bad: tt.bad}
			f.meet = func() {
				for id := uint32(2); id < 6; id++ {
					wg.Go(func() { errs[id] = g.do(id, f.change) })
				}
				for g.count() < 4 {
					runtime.Gosched()
				}
			}
			errs[1] = g.do(1, f.change)
			wg.Wait()
			assert.Len(t, f.made, tt.want)
			assert.Equal(t, []uint32{1}, f.made[0])
			assert.ElementsMatch(t, []uint32{2, 3, 4, 5}, f.made[1])
			for id, err := range errs {
				assert.Equal(t, tt.bad != 0 && uint32(id) == tt.bad, err != nil, id)
			}
		})
	}
}

func (g *gather[T]) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting)
}

func TestGatherWaitsForAChangeUnderWay(t *testing.T) {
	var g gather[uint32]
	g.wait()
	var made atomic.Bool
	begun := make(chan struct{})
	go func() {
		_ = g.do(1, func(...uint32) error {
			close(begun)
			time.Sleep(20 * time.Millisecond)
			made.Store(true)
			return nil
		})
	}()
	<-begun
	g.wait()
	assert.True(t, made.Load())
}
