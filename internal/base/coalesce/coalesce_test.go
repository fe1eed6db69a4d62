package coalesce

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

// changes records changes. During the first one, others begin to wait.
type changes struct {
	made [][]uint32
	meet func()
	bad  uint32 // one that is refused; 0: none
}

func (c *changes) change(ids ...uint32) error {
	c.made = append(c.made, ids)
	if len(c.made) == 1 {
		c.meet()
	}
	if c.bad != 0 && slices.Contains(ids, c.bad) {
		return errors.New("refused")
	}
	return nil
}

func TestQueueMakesTogetherWhatWaits(t *testing.T) {
	for _, tt := range []struct {
		name string
		bad  uint32
		want int // changes
	}{
		{name: "all well", want: 2},
		{name: "one is refused, then each is tried alone", bad: 3, want: 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var q Queue[uint32]
			var wg sync.WaitGroup
			errs := make([]error, 6)
			f := &changes{bad: tt.bad}
			f.meet = func() {
				for id := uint32(2); id < 6; id++ {
					wg.Go(func() { errs[id] = q.Do(id, f.change) })
				}
				for q.count() < 4 {
					runtime.Gosched()
				}
			}
			errs[1] = q.Do(1, f.change)
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

func TestQueueWaitsForAChangeUnderWay(t *testing.T) {
	var q Queue[uint32]
	q.Wait()
	var made atomic.Bool
	begun := make(chan struct{})
	go func() {
		_ = q.Do(1, func(...uint32) error {
			close(begun)
			time.Sleep(20 * time.Millisecond)
			made.Store(true)
			return nil
		})
	}()
	<-begun
	q.Wait()
	assert.True(t, made.Load())
}

func TestQueueCollectsThoseThatAreAboutToAsk(t *testing.T) {
	q := Queue[uint32]{Collect: func(waiting func() int) {
		for waiting() < 3 {
			runtime.Gosched()
		}
	}}
	f := &changes{meet: func() {}}
	var wg sync.WaitGroup
	for id := range uint32(3) {
		wg.Go(func() { assert.NoError(t, q.Do(id, f.change)) })
	}
	wg.Wait()
	assert.Len(t, f.made, 1)
	assert.ElementsMatch(t, []uint32{0, 1, 2}, f.made[0])
}
