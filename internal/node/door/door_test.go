package door

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/places"
)

// street has listeners, and addresses that somebody else has.
type street struct {
	mu    sync.Mutex
	taken map[string]bool
	open  map[string]int
	tries int
	end   chan struct{} // closed: listeners end by themselves
}

type listener struct {
	of *street
	at string
}

func (l listener) Serve(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-l.of.ends():
	}
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	l.of.open[l.at]--
	return nil
}

func (s *street) ends() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end
}

func (s *street) lets(end chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end = end
}

func (listener) Count() places.Count { return places.Count{Most: 64, Taken: 2, Lost: 3} }

func (s *street) listen(at string) (Listener, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries++
	if s.taken[at] {
		return nil, errors.New("address already in use")
	}
	s.open[at]++
	return listener{s, at}, nil
}

func (s *street) take(at string, yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken[at] = yes
}

func (s *street) has(at string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[at] == 1
}

// stands runs test with a door in virtual time, and looks afterwards whether it is closed.
func stands(t *testing.T, test func(t *testing.T, d *Door, s *street, begin func(at string), log *strings.Builder)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		s, log := &street{taken: map[string]bool{}, open: map[string]int{}}, &strings.Builder{}
		d := New("metrics.address", code.MetricsUnheard, s.listen, slog.New(slog.NewTextHandler(log, nil)))
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { d.Run(ctx) })
		begin := func(at string) {
			d.Start(at, func(run func(context.Context) error) func() {
				ctx, cancel := context.WithCancel(ctx)
				ended := make(chan struct{})
				wg.Go(func() { defer close(ended); assert.NoError(t, run(ctx)) })
				return func() { cancel(); <-ended }
			})
		}
		test(t, d, s, begin, log)
		cancel()
		wg.Wait()
		for at, n := range s.open {
			assert.Zero(t, n, at)
		}
	})
}

func TestDoorOpensWhenWhoeverHadThePortGivesItUp(t *testing.T) {
	stands(t, func(t *testing.T, d *Door, s *street, begin func(string), log *strings.Builder) {
		s.take("127.0.0.1:9645", true)
		begin("127.0.0.1:9645")
		st := d.Status()
		require.NotNil(t, st)
		assert.Equal(t, code.MetricsUnheard, st.Code)
		assert.Equal(t, "address already in use", st.Problem)
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.Equal(t, 1, strings.Count(log.String(), "KV380"), "it is said once")
		assert.Less(t, s.tries, 1000, "and tried with patience")
		s.take("127.0.0.1:9645", false)
		time.Sleep(mostWait)
		synctest.Wait()
		assert.True(t, s.has("127.0.0.1:9645"))
		assert.Equal(t, &Status{Option: "metrics.address", Address: "127.0.0.1:9645", Connections: 2, Places: 64, Lost: 3}, d.Status())
		assert.Contains(t, log.String(), "the listener is open now")
	})
}

// A server that fails for a reason of the host ends its listener. The door is not taken for open then, and opens again.
func TestDoorOpensAgainWhatHasEndedByItself(t *testing.T) {
	stands(t, func(t *testing.T, d *Door, s *street, begin func(string), _ *strings.Builder) {
		end := make(chan struct{})
		s.lets(end)
		begin("127.0.0.1:9645")
		time.Sleep(time.Minute)
		require.Empty(t, d.Status().Problem)
		s.lets(nil)
		close(end)
		synctest.Wait()
		st := d.Status()
		assert.Equal(t, code.MetricsUnheard, st.Code)
		assert.Contains(t, st.Problem, "the listener has ended")
		assert.Zero(t, st.Places)
		time.Sleep(mostWait)
		synctest.Wait()
		assert.True(t, s.has("127.0.0.1:9645"))
		assert.Empty(t, d.Status().Problem)
	})
	stands(t, func(t *testing.T, d *Door, s *street, begin func(string), log *strings.Builder) {
		end := make(chan struct{})
		close(end)
		s.lets(end)
		begin("127.0.0.1:9645")
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.Less(t, s.tries, 1000, "with patience")
		assert.Less(t, strings.Count(log.String(), "\n"), 2000)
		s.take("127.0.0.1:9646", true)
		d.Use("127.0.0.1:9646")
		time.Sleep(time.Minute)
		assert.Equal(t, "address already in use", d.Status().Problem)
		s.lets(nil)
		s.take("127.0.0.1:9646", false)
		time.Sleep(mostWait)
		synctest.Wait()
		assert.True(t, s.has("127.0.0.1:9646"))
	})
}

func TestDoorIsMoved(t *testing.T) {
	stands(t, func(t *testing.T, d *Door, s *street, begin func(string), _ *strings.Builder) {
		d.Use("127.0.0.1:1")
		assert.Nil(t, d.Status(), "not begun")
		begin("127.0.0.1:1")
		s.take("127.0.0.1:2", true)
		d.Use("127.0.0.1:2")
		time.Sleep(time.Minute)
		assert.True(t, s.has("127.0.0.1:1"), "the former one stays open")
		assert.Equal(t, "127.0.0.1:2", d.Status().Address)
		assert.NotEmpty(t, d.Status().Problem)
		d.Use("127.0.0.1:1")
		assert.Empty(t, d.Status().Problem, "back again")
		d.Use("0.0.0.0:1")
		synctest.Wait()
		assert.True(t, s.has("0.0.0.0:1"))
		assert.False(t, s.has("127.0.0.1:1"), "of one port")
		d.Use("")
		assert.Nil(t, d.Status())
		assert.False(t, s.has("0.0.0.0:1"))
	})
}
