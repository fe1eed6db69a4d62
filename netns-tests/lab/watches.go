package lab

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// WatchesConfig describes clients of an apiserver, as client-go makes them: each has one HTTP/2 connection, on which all its watches are.
type WatchesConfig struct {
	Target  netip.AddrPort
	Clients int
	Each    int         // watches of each client
	Path    string      // of a watch
	TLS     *tls.Config // nil: any certificate of the server
	// Ask is the path of a short request that each client makes every AskEvery, too; 0 = never.
	Ask      string
	AskEvery time.Duration
}

// Watches are requests whose answers last. One that ends begins again, which must not happen.
type Watches struct {
	lab    *Lab
	cfg    WatchesConfig
	cancel context.CancelFunc
	wait   sync.WaitGroup

	mu     sync.Mutex
	report WatchesReport
	last   map[int]int // the last number by watch
}

// WatchesReport is what became of watches.
type WatchesReport struct {
	Client   string
	Count    int
	Own      []netip.AddrPort // of the connections that clients have opened, their own addresses; more than clients: they had to
	ByNode   map[string]int   // who served, counted each time a watch began
	Events   int
	Missed   int // numbers left out between two events of a watch
	Restarts []WatchEnd
	Silence  time.Duration // the longest time from one event of a watch to the next
}

// WatchEnd is how a watch ended that had to begin again.
type WatchEnd struct {
	At  time.Duration // on the clock of every report
	How string
}

// Watch begins watches from a host, and returns when there was an event on each.
func (l *Lab) Watch(from *Namespace, cfg WatchesConfig) (*Watches, error) {
	ctx, cancel := context.WithCancel(context.Background())
	count := cfg.Clients * cfg.Each
	w := &Watches{lab: l, cfg: cfg, cancel: cancel, last: map[int]int{}}
	w.report = WatchesReport{Client: from.short(), Count: count, ByNode: map[string]int{}}
	l.atEnd(func() { w.Stop() })
	clients := make([]*http.Client, cfg.Clients)
	for i := range clients {
		clients[i] = w.client(from)
	}
	for i := range cfg.Each { // the first of a client opens the connection
		for j, client := range clients {
			w.wait.Go(func() { w.watch(ctx, client, i*cfg.Clients+j) })
		}
		if !comes(20*time.Second, 5*time.Millisecond, func() bool { return w.begun() == (i+1)*cfg.Clients }) {
			return nil, fmt.Errorf("lab: watches from %s of %s: %d of each client have begun: no event within 20 s: %v", from.Name, cfg.Target, i, w.Stop().Restarts)
		}
	}
	if cfg.AskEvery > 0 {
		for _, client := range clients {
			w.wait.Go(func() { w.ask(ctx, client) })
		}
	}
	return w, nil
}

// begun is how many watches have had an event.
func (w *Watches) begun() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.last)
}

// client is set up as client-go does it.
func (w *Watches) client(from *Namespace) *http.Client {
	config := &tls.Config{InsecureSkipVerify: true}
	if w.cfg.TLS != nil {
		config = w.cfg.TLS.Clone()
	}
	return &http.Client{Transport: &http.Transport{
		ForceAttemptHTTP2: true, TLSClientConfig: config,
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
		DialContext: func(context.Context, string, string) (c net.Conn, err error) {
			if c, err = from.Dial(w.cfg.Target, 2*time.Second); err == nil {
				w.opened(c)
			}
			return c, err
		},
	}}
}

func (w *Watches) opened(c net.Conn) {
	own, _ := netip.ParseAddrPort(c.LocalAddr().String())
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.Own = append(w.report.Own, own)
}

// watch begins again for as long as nobody stops it.
func (w *Watches) watch(ctx context.Context, client *http.Client, number int) {
	defer client.CloseIdleConnections()
	for ctx.Err() == nil {
		err := w.once(ctx, client, number)
		if ctx.Err() != nil {
			return
		}
		w.mu.Lock()
		w.report.Restarts = append(w.report.Restarts, WatchEnd{w.lab.Now(), err.Error()})
		w.mu.Unlock()
		pauseFor(ctx, 100*time.Millisecond)
	}
}

// once is one watch to its end.
func (w *Watches) once(ctx context.Context, client *http.Client, number int) (err error) {
	defer try.Catch(&err)
	var own string
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { own = i.Conn.LocalAddr().String() }})
	answer := try.Get(client.Do(try.Get(http.NewRequestWithContext(ctx, http.MethodGet, "https://"+w.cfg.Target.String()+w.cfg.Path, nil))))
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK || answer.ProtoMajor != 2 {
		return fmt.Errorf("%s %s", answer.Proto, answer.Status)
	}
	node := try.Get(answerer(answer.Header, answer.TLS.PeerCertificates))
	events := bufio.NewReaderSize(answer.Body, 1<<16)
	for last, at := -1, w.lab.Now(); ; {
		line, err := events.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("n%d to %s: %w", node, own, err)
		}
		now, n := w.lab.Now(), eventNumber(line)
		w.mu.Lock()
		w.report.Events++
		w.last[number] = n
		if last < 0 {
			w.report.ByNode[fmt.Sprintf("n%d", node)]++
		} else {
			w.report.Missed += max(n-last-1, 0)
			w.report.Silence = max(w.report.Silence, now-at)
		}
		w.mu.Unlock()
		last, at = max(n, last, 0), now
	}
}

// ask makes short requests, one after the other.
func (w *Watches) ask(ctx context.Context, client *http.Client) {
	for pauseFor(ctx, w.cfg.AskEvery) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+w.cfg.Target.String()+w.cfg.Ask, nil)
		if err != nil {
			return
		}
		if answer, err := client.Do(request); err == nil {
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
		}
	}
}

// Await waits until all watches have told of a number, but no longer than the limit.
func (w *Watches) Await(number int, limit time.Duration) {
	comes(limit, 10*time.Millisecond, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, last := range w.last {
			if last < number {
				return false
			}
		}
		return true
	})
}

// Connections is how many the clients have opened so far.
func (w *Watches) Connections() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.report.Own)
}

// eventNumber is the n among an object's data; -1 without one.
func eventNumber(line []byte) int {
	_, rest, _ := bytes.Cut(line, []byte(`"n":"`))
	digits, _, ok := bytes.Cut(rest, []byte(`"`))
	if n, err := strconv.Atoi(string(digits)); ok && err == nil {
		return n
	}
	return -1
}

// Stop ends all watches. To call it again does nothing else.
func (w *Watches) Stop() WatchesReport {
	w.cancel()
	w.wait.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.report
	r.Restarts, r.Own = slices.Clone(r.Restarts), slices.Clone(r.Own)
	return r
}
