package control

import (
	"bytes"
	"maps"
	"net/http"
	"sync"
	"time"
)

// cached serves the same answer for a while: to make one costs more than whoever asks should be able to spend.
type cached struct {
	next http.Handler
	keep time.Duration

	mu   sync.Mutex // guards what follows; whoever waits for it is served the answer that is being made
	made time.Time
	last recorded
}

// recorded is an answer.
type recorded struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

// ServeHTTP implements http.Handler. What the request accepts is not looked at: all get the plain form.
func (c *cached) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header, code, body := c.answer(r)
	maps.Copy(w.Header(), header)
	w.WriteHeader(code)
	_, _ = w.Write(body) // an error here means that the asker has gone
}

func (c *cached) answer(r *http.Request) (http.Header, int, []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); c.made.IsZero() || now.Sub(c.made) >= c.keep {
		c.last = recorded{header: http.Header{}, code: http.StatusOK}
		plain := r.Clone(r.Context())
		plain.Header = http.Header{}
		c.next.ServeHTTP(&c.last, plain)
		c.made = now
	}
	return c.last.header, c.last.code, c.last.body.Bytes()
}

// Header implements http.ResponseWriter.
func (r *recorded) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *recorded) WriteHeader(code int) { r.code = code }

// Write implements http.ResponseWriter.
func (r *recorded) Write(b []byte) (int, error) { return r.body.Write(b) }
