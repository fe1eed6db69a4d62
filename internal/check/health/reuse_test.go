package health

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
)

// askers counts a server's requests by connection.
type askers struct {
	mu sync.Mutex // guards by
	by map[string]int
}

func (a *askers) note(r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.by == nil {
		a.by = map[string]int{}
	}
	a.by[r.RemoteAddr]++
}

func (a *askers) count() (connections, requests int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, n := range a.by {
		requests += n
	}
	return len(a.by), requests
}

func TestAFastCheckAsksOnAConnectionThatItHas(t *testing.T) {
	var seen askers
	w := serveWatched(t, func(_ http.ResponseWriter, r *http.Request) { seen.note(r) })
	c, reports := running(t, given(config.ListedCheck{URL: w.URL, Interval: 10 * time.Millisecond, Timeout: 10 * time.Second}))
	require.Equal(t, Healthy, next(t, reports).State)
	start := time.Now()
	require.Eventually(t, func() bool { _, requests := seen.count(); return requests > 50 }, time.Minute, time.Millisecond)
	connections, _ := seen.count()
	assert.LessOrEqual(t, connections, 3+int(time.Since(start)/newEvery))
	assert.Zero(t, c.Verdict().Failures)
}

func TestAFastCheckMakesANewConnectionNowAndThen(t *testing.T) {
	now := time.Unix(0, 0)
	u := reuse{fast: true, allowed: true}
	w := serveWatched(t, ok)
	p, err := newHTTPProber(given(config.ListedCheck{URL: w.URL}))
	require.NoError(t, err)
	x := exchange{prober: p, keep: true}
	require.Equal(t, Pass, x.result(t.Context(), nil).Outcome)
	u.begin(x.kept, now)
	conn := u.take(now.Add(newEvery - 1))
	assert.Same(t, x.kept, conn)
	u.put(conn)
	assert.Nil(t, u.take(now.Add(newEvery)))
	assert.Eventually(t, func() bool { return w.in(http.StateIdle) == 0 }, 10*time.Second, time.Millisecond, "closed")
}

func TestAFastCheckDoesNotMindThatTheServerClosesWhatIsIdle(t *testing.T) {
	w := serveWatched(t, ok)
	c, reports := running(t, given(config.ListedCheck{URL: w.URL, Interval: 10 * time.Millisecond, Timeout: 10 * time.Second}))
	require.Equal(t, Healthy, next(t, reports).State)
	for range 20 {
		w.CloseClientConnections()
		fresh(t, c)
	}
	assert.Equal(t, Healthy, c.Verdict().State)
	assert.Empty(t, reports)
}

// A server whose old connections are served while new ones are not: every failure has to be found on a new one.
func TestAFastCheckFindsOutOnNewConnections(t *testing.T) {
	var unhealthy atomic.Bool
	var seen askers
	w := serveWatched(t, func(w http.ResponseWriter, r *http.Request) {
		if unhealthy.Load() {
			seen.note(r)
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	_, reports := running(t, given(config.ListedCheck{URL: w.URL, Interval: 10 * time.Millisecond, Timeout: 10 * time.Second}))
	require.Equal(t, Healthy, next(t, reports).State)
	unhealthy.Store(true)
	require.Equal(t, Unhealthy, next(t, reports).State)
	connections, requests := seen.count()
	assert.GreaterOrEqual(t, connections, requests-1, "the first one may have come on the old connection")
}

func TestADefaultCheckMakesANewConnectionEachTime(t *testing.T) {
	var seen askers
	w := serveWatched(t, func(w http.ResponseWriter, r *http.Request) { seen.note(r); io.WriteString(w, "ok") })
	c, reports := running(t, given(config.ListedCheck{URL: w.URL, Timeout: 10 * time.Second}))
	require.Equal(t, Healthy, next(t, reports).State)
	for range 5 {
		fresh(t, c)
	}
	connections, requests := seen.count()
	assert.Equal(t, requests, connections)
}
