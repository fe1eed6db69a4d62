package lab

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// HeldConfig describes connections to greeters that a client holds.
type HeldConfig struct {
	Target netip.AddrPort
	Count  int
	Every  time.Duration // a ping on each of them, 0 = 50 ms
}

// Held are connections that live long and are always in use: a client sends a ping on each of them at each interval, and every ping must be
// answered on the same connection.
type Held struct {
	measuring
	lab     *Lab
	name    string
	cfg     HeldConfig
	poll    *poller
	greeted atomic.Int64 // on how many a server has said something
	conns   []*heldConn  // owned by run until it has ended
	byFD    map[int]*heldConn

	mu    sync.Mutex
	alive map[string]int // how many connections of each node are not lost
}

// HeldConn is what one connection went through. Instants count from [Host.Open].
type HeldConn struct {
	Node string         `json:"node"` // who served it: the name that its first line said; "" if there was none
	Own  netip.AddrPort `json:"own"`  // the client's address
	Seen netip.AddrPort `json:"seen"` // the same as the server saw it
	// Began is when the client began to connect.
	Began time.Duration `json:"began"`
	// Lost is when the client was told that the connection is gone, and How the error; 0 if it is alive. One whose last pings were not
	// answered within the grace at the end is lost then.
	Lost time.Duration `json:"lost,omitempty"`
	How  string        `json:"how,omitempty"`
	// Since is when the first of its pings was sent that was never answered; 0 if all were.
	Since time.Duration `json:"since,omitempty"`
	// Stall is the longest time from a ping to its answer, or to the end if there was none, and StallAt when that ping was sent.
	Stall   time.Duration `json:"stall"`
	StallAt time.Duration `json:"stallAt"`
}

// NoAnswer is how a connection was lost of which the client was never told.
const NoAnswer = "no answer until the end"

// heldConn is a connection with what is on its way.
type heldConn struct {
	HeldConn
	fd      int
	open    bool
	due     time.Duration
	waiting []time.Duration // when the pings were sent that are not answered yet, in order
	rest    []byte          // of a first line or an answer that has not come in wholly
}

const (
	heldEvery = 50 * time.Millisecond
	// heldGrace is for how long answers are waited for at the end: after an outage TCP waits for as long again before it sends what was lost.
	heldGrace = 30 * time.Second
	heldPing  = 8 // octets
)

// Hold connects from a host and pings until [Held.Stop]. It returns when all connections were greeted.
func (l *Lab) Hold(from *Namespace, cfg HeldConfig) (*Held, error) {
	if cfg.Every == 0 {
		cfg.Every = heldEvery
	}
	h := &Held{lab: l, name: from.short(), cfg: cfg, byFD: map[int]*heldConn{}, alive: map[string]int{}}
	var err error
	if h.poll, err = newPoller(); err != nil {
		return nil, err
	}
	if err := h.startIn(from, h.run); err != nil {
		h.poll.close()
		return nil, fmt.Errorf("lab: %d connections from %s to %s: %w", cfg.Count, from.Name, cfg.Target, err)
	}
	l.atEnd(func() { h.Stop() })
	if !comes(10*time.Second, 5*time.Millisecond, func() bool { return int(h.greeted.Load()) >= cfg.Count }) {
		greeted := h.greeted.Load()
		r := h.Stop()
		return nil, fmt.Errorf("lab: %d of %d connections from %s to %s were greeted within 10 s %s", greeted, cfg.Count, from.Name, cfg.Target, r.Failures())
	}
	return h, nil
}

// Alive is how many connections a node has served that are not lost yet.
func (h *Held) Alive(node string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.alive[node]
}

func (h *Held) count(node string, more int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.alive[node] += more
}

// run owns a thread inside the client's namespace, and everything but the counters.
func (h *Held) run() {
	defer h.poll.close()
	h.connect()
	var end time.Duration // when the last answers must be in, once stopping
	for next := h.lab.Now(); ; {
		for _, e := range h.poll.wait(next - h.lab.Now()) {
			if c := h.byFD[int(e.Fd)]; c != nil {
				h.serve(c, e.Events)
			}
		}
		now := h.lab.Now()
		switch {
		case h.stop.Load() && end == 0:
			end = now + heldGrace
		case end > 0 && (now >= end || !h.anyWaiting()):
			h.finish(now)
			return
		}
		next = now + h.cfg.Every
		for _, c := range h.conns {
			if end == 0 && c.open && now >= c.due {
				h.ping(c, now)
			}
			if end == 0 && c.open {
				next = min(next, c.due)
			}
		}
		// Pings of the same millisecond go out together.
		if next = max(next, now+time.Millisecond); end > 0 {
			next = now + time.Millisecond
		}
	}
}

// connect begins all connections, a few at a time, and spreads their pings over the interval.
func (h *Held) connect() {
	for i := range h.cfg.Count {
		now := h.lab.Now()
		c := &heldConn{HeldConn: HeldConn{Began: now}, due: now + h.cfg.Every*time.Duration(i)/time.Duration(h.cfg.Count)}
		h.conns = append(h.conns, c)
		fd, err := h.poll.dial(h.cfg.Target)
		if err != nil {
			h.lose(c, err)
			continue
		}
		c.fd = fd
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		h.byFD[fd] = c
		if i%32 == 31 {
			time.Sleep(2 * time.Millisecond)
		}
	}
}

// serve takes in what there is on a connection.
func (h *Held) serve(c *heldConn, events uint32) {
	if events&unix.EPOLLERR != 0 {
		if err := socketError(c.fd); err != nil {
			h.lose(c, err)
			return
		}
	}
	var buf [4096]byte
	for {
		n, err := unix.Read(c.fd, buf[:])
		switch {
		case err == unix.EAGAIN:
			return
		case err == unix.EINTR:
			continue
		case err == nil && n == 0:
			err = errors.New("closed by the server")
		}
		if err != nil {
			h.lose(c, err)
			return
		}
		if h.take(c, buf[:n]); c.Lost > 0 {
			return
		}
	}
}

// take reads the first line, and then answers.
func (h *Held) take(c *heldConn, data []byte) {
	c.rest = append(c.rest, data...)
	if !c.open {
		line, rest, ok := bytes.Cut(c.rest, []byte("\n"))
		if !ok {
			return
		}
		c.Node, c.Seen = greeting(string(line))
		if own, err := unix.Getsockname(c.fd); err == nil {
			c.Own = endpointOf(own)
		}
		c.open, c.rest = true, rest
		h.count(c.Node, 1)
		h.greeted.Add(1)
	}
	now := h.lab.Now()
	for len(c.rest) >= heldPing && len(c.waiting) > 0 {
		sent := time.Duration(binary.BigEndian.Uint64(c.rest))
		c.rest = c.rest[heldPing:]
		if sent != c.waiting[0] {
			h.lose(c, errors.New("the answer to another ping"))
			return
		}
		c.waiting = c.waiting[1:]
		c.stalled(sent, now)
	}
}

// greeting parses the first line of a greeter.
func greeting(line string) (node string, seen netip.AddrPort) {
	node, text, _ := strings.Cut(line, " ")
	seen, _ = netip.ParseAddrPort(text)
	return node, netip.AddrPortFrom(seen.Addr().Unmap(), seen.Port())
}

func (c *heldConn) stalled(sent, now time.Duration) {
	if now-sent > c.Stall {
		c.Stall, c.StallAt = now-sent, sent
	}
}

func (h *Held) ping(c *heldConn, now time.Duration) {
	if c.due += h.cfg.Every; c.due <= now {
		c.due = now + h.cfg.Every
	}
	_, err := unix.Write(c.fd, binary.BigEndian.AppendUint64(nil, uint64(now)))
	switch {
	case err == nil:
		c.waiting = append(c.waiting, now)
	case err != unix.EAGAIN:
		h.lose(c, err)
	}
}

func (h *Held) lose(c *heldConn, err error) {
	if c.fd > 0 {
		delete(h.byFD, c.fd)
		h.poll.shut(c.fd)
		c.fd = 0
	}
	if len(c.waiting) > 0 {
		c.Since = c.waiting[0]
	}
	if c.open {
		h.count(c.Node, -1)
	}
	c.open, c.waiting = false, nil
	c.Lost, c.How = h.lab.Now(), err.Error()
}

func (h *Held) anyWaiting() bool {
	return slices.ContainsFunc(h.conns, func(c *heldConn) bool { return len(c.waiting) > 0 })
}

func (h *Held) finish(now time.Duration) {
	for _, c := range h.conns {
		switch {
		case len(c.waiting) > 0:
			c.stalled(c.waiting[0], now)
			h.lose(c, errors.New(NoAnswer))
		case c.Lost == 0 && !c.open:
			h.lose(c, errors.New("never greeted"))
		case c.open:
			unix.Close(c.fd)
		}
	}
}

// Stop ends the pings, waits for the last answers and returns what became of the connections. To call it again does nothing else.
func (h *Held) Stop() HeldReport {
	h.halt()
	r := HeldReport{Client: h.name, Target: h.cfg.Target}
	for _, c := range h.conns {
		r.Conns = append(r.Conns, c.HeldConn)
	}
	return r
}
