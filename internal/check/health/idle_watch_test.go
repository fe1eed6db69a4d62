package health

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
)

// watched is a server whose connections are counted by state.
type watched struct {
	*httptest.Server
	mu     sync.Mutex // guards states
	states map[net.Conn]http.ConnState
}

func serveWatched(t *testing.T, h http.HandlerFunc) *watched {
	t.Helper()
	w := &watched{Server: httptest.NewUnstartedServer(h), states: map[net.Conn]http.ConnState{}}
	w.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	w.Config.ConnState = func(c net.Conn, s http.ConnState) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if s == http.StateClosed {
			delete(w.states, c)
			return
		}
		w.states[c] = s
	}
	w.StartTLS()
	t.Cleanup(w.Close)
	return w
}

func (w *watched) in(s http.ConnState) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, state := range w.states {
		if state == s {
			n++
		}
	}
	return n
}

// running starts a Checker of a URL and returns its reports.
func running(t *testing.T, cfg config.ListedCheck) (*Checker, chan Verdict) {
	t.Helper()
	c, err := newHTTPChecker(cfg, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	reports, done := make(chan Verdict, 100), make(chan struct{})
	go func() { defer close(done); c.Run(ctx, func(v Verdict) { reports <- v }) }()
	t.Cleanup(func() { cancel(); <-done })
	return c, reports
}

func next(t *testing.T, reports chan Verdict) Verdict {
	t.Helper()
	select {
	case v := <-reports:
		return v
	case <-time.After(20 * time.Second):
		require.Fail(t, "no report")
		return Verdict{}
	}
}

func fresh(t *testing.T, c *Checker) Result {
	t.Helper()
	r, err := c.Fresh(t.Context())
	require.NoError(t, err)
	return r
}

func ok(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }

const hourly = time.Hour // an interval that no test waits for

func TestDeathIsSeenWithoutWaitingForTheNextProbe(t *testing.T) {
	w := serveWatched(t, ok)
	_, reports := running(t, given(config.ListedCheck{URL: w.URL, Interval: hourly, Timeout: 10 * time.Second}))
	require.Equal(t, Healthy, next(t, reports).State)
	w.Listener.Close()
	w.CloseClientConnections()
	v := next(t, reports)
	assert.Equal(t, Unhealthy, v.State)
	assert.Equal(t, "connection refused", v.Reason)
}

func TestIdleWatchIsOneIdleConnection(t *testing.T) {
	w := serveWatched(t, ok)
	c, reports := running(t, given(config.ListedCheck{URL: w.URL, Interval: hourly, Timeout: 10 * time.Second}))
	require.Equal(t, Healthy, next(t, reports).State)
	for range 5 {
		require.Equal(t, Pass, fresh(t, c).Outcome)
	}
	assert.Eventually(t, func() bool {
		return w.in(http.StateIdle) == 1 && w.in(http.StateActive) == 0 && w.in(http.StateNew) == 0
	}, 10*time.Second, time.Millisecond)
}

func TestIdleWatchDoesNotHoldUpAnOrderlyShutdown(t *testing.T) {
	w := serveWatched(t, ok)
	_, reports := running(t, given(config.ListedCheck{URL: w.URL, Interval: hourly, Timeout: 10 * time.Second}))
	require.Equal(t, Healthy, next(t, reports).State)
	require.Eventually(t, func() bool { return w.in(http.StateIdle) == 1 }, 10*time.Second, time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second) // net/http waits five seconds for one that never asked anything
	defer cancel()
	require.NoError(t, w.Config.Shutdown(ctx))
	assert.Equal(t, "connection refused", next(t, reports).Reason)
}

func TestIdleWatchIsLeftWhenTheServerSaysThatItGoes(t *testing.T) {
	var going atomic.Bool
	w := serveWatched(t, func(w http.ResponseWriter, r *http.Request) {
		if going.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			io.WriteString(w, "[+]ping ok\n[-]shutdown failed: reason withheld\nreadyz check failed\n")
		}
	})
	c, reports := running(t, given(config.ListedCheck{URL: w.URL, Interval: hourly, Timeout: 10 * time.Second}))
	require.Equal(t, Healthy, next(t, reports).State)
	going.Store(true)
	c.probing.kick.Send()
	v := next(t, reports)
	assert.Equal(t, Unhealthy, v.State, "one answer is enough")
	assert.Equal(t, "500: shutting down", v.Reason)
	assert.Eventually(t, func() bool { return w.in(http.StateIdle) == 0 }, 10*time.Second, time.Millisecond)
}

func TestNoIdleWatchWhereItIsNotWanted(t *testing.T) {
	tests := []struct {
		name   string
		noIdle bool
		serve  http.HandlerFunc
	}{
		{"by configuration", true, ok},
		{"by the server", false, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") }},
		{"after a bad answer", false, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := serveWatched(t, tt.serve)
			h := given(config.ListedCheck{URL: w.URL, Interval: hourly, Timeout: 10 * time.Second})
			h.Watch = !tt.noIdle
			_, reports := running(t, h)
			next(t, reports)
			assert.Eventually(t, func() bool { return w.in(http.StateIdle)+w.in(http.StateActive)+w.in(http.StateNew) == 0 }, 10*time.Second, time.Millisecond)
		})
	}
}

// lined is a Prober whose idle connections are ends of pipes.
type lined struct {
	*idleWatch
	mu     sync.Mutex // guards what follows
	looks  int
	far    []net.Conn
	answer func(l *lined) Result
}

func (p *lined) Probe(context.Context) Result {
	p.mu.Lock()
	p.looks++
	p.mu.Unlock()
	return p.answer(p)
}

func (p *lined) Watch(ctx context.Context, changed func()) func() { return p.watch(ctx, changed) }

// lay leaves a connection where one is wanted.
func (p *lined) lay() net.Conn {
	if !p.wanted(time.Now()) {
		return nil
	}
	near, far := net.Pipe()
	p.adopt(near, time.Now())
	p.far = append(p.far, far)
	return far
}

func runLined(t *testing.T, d time.Duration, answer func(*lined) Result) (looks, lines int) {
	t.Helper()
	p := &lined{idleWatch: newIdleWatch(true), answer: answer}
	c, err := newChecker(p, given(config.ListedCheck{Interval: time.Second}), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	c.Run(ctx, func(Verdict) {})
	for _, far := range p.far {
		far.Close()
	}
	return p.looks, len(p.far)
}

func TestIdleWatchThatIsCutAtOnceKeepsNobodyBusy(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		looks, lines := runLined(t, 10*time.Minute, func(p *lined) Result {
			if far := p.lay(); far != nil {
				far.Close()
			}
			return Result{}
		})
		assert.InDelta(t, 600, looks, 60)
		assert.LessOrEqual(t, lines, 25, "ever more seldom, up to once a minute")
		assert.GreaterOrEqual(t, lines, 10, "but never given up")
	})
}

func TestIdleWatchThatIsCutNowAndThenIsReplacedAtOnce(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, lines := runLined(t, 10*time.Minute+time.Second, func(p *lined) Result {
			if far := p.lay(); far != nil {
				time.AfterFunc(90*time.Second, func() { far.Close() })
			}
			return Result{}
		})
		assert.InDelta(t, 7, lines, 1, "every 90 s, as an apiserver does with what is idle")
	})
}

func TestIdleWatchInTheWayOfTheServerIsGivenUp(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		failed := 0
		runLined(t, 10*time.Minute, func(p *lined) Result {
			if p.lay() != nil || p.wanted(time.Now()) {
				return Result{}
			}
			p.idleWatch.mu.Lock()
			busy := p.conn != nil
			p.idleWatch.mu.Unlock()
			if busy { // it serves one connection at a time, and has one
				p.drop(true)
				failed++
				return Result{Outcome: Fail}
			}
			return Result{}
		})
		assert.LessOrEqual(t, failed, 25)
	})
}

func TestIdleWatchOfManyEndsLeavesNothingOpen(t *testing.T) {
	w := serveWatched(t, ok)
	c, reports := running(t, given(config.ListedCheck{URL: w.URL, Interval: hourly, Timeout: 10 * time.Second}))
	next(t, reports)
	fresh(t, c)
	before := descriptors(t)
	for range 30 {
		w.CloseClientConnections()
		fresh(t, c)
	}
	assert.Eventually(t, func() bool { return descriptors(t) <= before+2 }, 10*time.Second, 10*time.Millisecond)
}

func TestShutdownIsReadFromTheBody(t *testing.T) {
	many := ""
	for i := range 9 {
		many += fmt.Sprintf("[-]part-%d failed: reason withheld\n", i)
	}
	tests := []struct {
		name   string
		status int
		body   string
		want   Result
	}{
		{"shutdown", 500, "[+]ping ok\n[-]shutdown failed: reason withheld\n", Result{Outcome: Down, Reason: "500: shutting down", Code: code.CheckLeaving}},
		{"shutdown among others", 500, "[-]etcd failed: x\n[-]shutdown failed: x\n", Result{Outcome: Down, Reason: "500: shutting down", Code: code.CheckLeaving}},
		{"shutdown is fine", 500, "[+]shutdown ok\n[-]etcd failed: reason withheld\n[-]etcd-readiness failed: x\n", Result{Outcome: Fail, Reason: "500", Hint: "failed: etcd, etcd-readiness", Code: code.CheckStatus}},
		{"only a word of it", 500, "shutdown failed\n x[-]shutdown failed\n", Result{Outcome: Fail, Reason: "500", Code: code.CheckStatus}},
		{"another status", 503, "[-]shutdown failed: x\n", Result{Outcome: Fail, Reason: "503", Code: code.CheckStatus}},
		{"odd names are not repeated", 500, "[-]\x1b[31m failed\n[-]a b failed\n", Result{Outcome: Fail, Reason: "500", Code: code.CheckStatus}},
		{"many", 500, many, Result{Outcome: Fail, Reason: "500", Hint: "failed: part-0, part-1, part-2, part-3, part-4, ...", Code: code.CheckStatus}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, probe(t, config.ListedCheck{URL: serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.status)
				io.WriteString(w, tt.body)
			})}))
		})
	}
}
