package raftelection

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/election"
)

func TestNodeThreeElectAHolderInAnyOrder(t *testing.T) {
	orders := [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}, {0, 1}, {1, 2}, {2, 0}}
	for _, order := range orders {
		synctest.Test(t, func(t *testing.T) {
			l := newLan(t, 3)
			defer l.stopAll()
			for n, i := range order {
				l.hosts[addr(i)].boot()
				if n == 0 {
					assert.NotZero(t, l.watch(time.Second), "a minority holds nothing")
				}
				if n == 1 {
					_, took := l.await(3 * time.Second)
					t.Log(order, "a holder after", took)
				}
				time.Sleep(700 * time.Millisecond)
			}
			assert.LessOrEqual(t, l.watch(5*time.Second), 100*time.Millisecond, "nothing moves")
			for _, i := range order {
				assert.Len(t, l.hosts[addr(i)].node.voters(), 3)
				assert.True(t, l.hosts[addr(i)].node.voice())
			}
		})
	}
}

func TestNodeSuccessorOfADeadHolder(t *testing.T) {
	for range 10 {
		synctest.Test(t, func(t *testing.T) {
			l := newLan(t, 3)
			defer l.stopAll()
			for i := range 3 {
				l.hosts[addr(i)].boot()
			}
			first, _ := l.await(3 * time.Second)
			time.Sleep(5 * time.Second)
			l.isolate(first.self, true)
			for first.answers() {
				time.Sleep(time.Millisecond)
			}
			_, took := l.await(2500 * time.Millisecond)
			t.Log("silent for", took)
			time.Sleep(2 * time.Second)
			l.isolate(first.self, false)
			assert.LessOrEqual(t, l.watch(5*time.Second), 100*time.Millisecond)
		})
	}
}

func TestNodeShutdownPassesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		for i := range 3 {
			l.hosts[addr(i)].boot()
		}
		first, _ := l.await(3 * time.Second)
		time.Sleep(5 * time.Second)
		began := time.Now()
		first.stop()
		_, _ = l.await(300 * time.Millisecond)
		t.Log("stop and takeover", time.Since(began))
	})
}

func TestNodeIllHolderPassesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		for i := range 3 {
			l.hosts[addr(i)].boot()
		}
		ill := election.Fitness{Less: 255, Reason: "the health check fails"}
		first, _ := l.await(3 * time.Second)
		time.Sleep(5 * time.Second)
		first.fit(ill)
		silent := l.watch(2 * time.Second)
		t.Log("moved, silent for", silent)
		assert.LessOrEqual(t, silent, 300*time.Millisecond)
		second, _ := l.await(time.Second)
		assert.NotEqual(t, first.self, second.self)
		for _, h := range l.hosts {
			h.fit(ill)
			time.Sleep(3 * time.Second)
		}
		assert.Zero(t, l.watch(5*time.Second), "all ill: nobody moves")
	})
}
