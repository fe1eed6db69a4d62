package virtualrouter

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/vrrp"
)

// Socket is what a Hub needs of vrrp.Conn.
type Socket interface {
	Write(payload []byte, dst netip.Addr) error
	WriteLink(payload []byte) error
	Wait() error
	Drain(fn func(vrrp.Datagram)) error
	SetFilter(vrids []uint8, peers []netip.Addr) error
	Group() netip.Addr
	Close() error
}

// Hub reads one socket for all Virtual Routers of an interface and family, and hands each
// advertisement to those that it concerns. Safe for concurrent use.
//
// A reader that is busy with a flood holds none of what sending needs.
type Hub struct {
	source   netip.Addr // own address
	link     string     // tells links apart on which the same address may send
	auth     *vrrp.Auth // nil: no authentication
	sock     Socket
	done     chan struct{}
	closed   atomic.Bool
	rejected *election.Rejections                 // what belongs to no Virtual Router of ours
	routes   atomic.Pointer[map[uint8][]*hubWire] // never changed, only replaced

	drained      atomic.Pointer[time.Time] // when the newest Drain began that was not in vain
	draining     sync.Mutex                // one Drain at a time; guards what the present one has found
	seen, useful bool                      // anything, and anything for us

	sending sync.Mutex // guards buf
	buf     []byte

	joining sync.Mutex // one change of routes at a time
}

// NewHub starts to read sock, which it owns from now on. Close ends that. at says where the socket is: its Source and
// Interface are used. auth may be nil: no authentication.
func NewHub(sock Socket, at vrrp.ConnConfig, auth *vrrp.Auth, log *slog.Logger) *Hub {
	h := &Hub{
		source: at.Source.WithZone(""), link: strconv.Itoa(at.Interface.Index), auth: auth, sock: sock, done: make(chan struct{}),
		rejected: newRejections(log), buf: make([]byte, 0, 1500),
	}
	h.routes.Store(&map[uint8][]*hubWire{})
	go h.read()
	return h
}

const (
	// readPause keeps a socket that fails at once, again and again, from taking the processor.
	readPause = 100 * time.Millisecond
	// junkPause is how long the reader lets a queue grow that had nothing but junk in it: under a flood it then
	// wakes up two hundred times a second, and not for each packet. An advertisement that waits meanwhile has the
	// time at which the kernel had it.
	junkPause = 4 * time.Millisecond
)

func (h *Hub) read() {
	defer close(h.done)
	for {
		err := h.sock.Wait()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		useless := false
		if err == nil {
			useless, err = h.drain()
		}
		switch {
		case err != nil:
			h.unreadable(err)
			time.Sleep(readPause)
		case useless:
			time.Sleep(junkPause)
		}
	}
}

// drain reads what is queued, and tells whether there was something, and nothing of it for us.
func (h *Hub) drain() (useless bool, err error) {
	h.draining.Lock()
	defer h.draining.Unlock()
	if h.closed.Load() {
		return false, nil
	}
	h.seen, h.useful = false, false
	began := time.Now()
	if err = h.sock.Drain(h.deliver); err == nil {
		h.drained.Store(&began)
	}
	return h.seen && !h.useful, err
}

// deliver parses once and hands to every wire of the VRID. d.Payload is only valid until it returns.
func (h *Hub) deliver(d vrrp.Datagram) {
	h.seen = true
	if d.LeastTTL > 0 {
		h.refuse(d, vrrp.RejectTTL, &vrrp.PacketError{Reason: vrrp.RejectTTL, Got: d.TTL, Want: d.LeastTTL})
		return
	}
	at := time.Now().Add(-d.Age)
	adv, doubt, err := h.auth.Parse(d.Payload, d.Source.WithZone(h.link), d.Destination, at)
	if err != nil {
		h.refuse(d, reasonOf(err), err)
		return
	}
	wires := (*h.routes.Load())[adv.VRID]
	if len(wires) == 0 {
		h.rejected.Add(d.Source, vrrp.RejectVRID, nil)
		return
	}
	a := Arrival{Source: d.Source, Advertisement: adv, At: at}
	for _, w := range wires {
		if d.Destination.IsMulticast() && w.unlisted(a.Source) {
			continue // another cluster's, that this host has joined the group for
		}
		h.useful = w.consider(a, doubt) || h.useful
	}
}

// refuse records a packet under the Virtual Router that it claims to be for, which only decides where it is counted.
func (h *Hub) refuse(d vrrp.Datagram, reason string, err error) {
	var wires []*hubWire
	if len(d.Payload) > 1 {
		wires = (*h.routes.Load())[d.Payload[1]]
	}
	for _, w := range wires {
		w.rejected.Add(d.Source, reason, err)
	}
	if len(wires) == 0 {
		h.rejected.Add(d.Source, reason, err)
	}
}

// unreadable tells every Virtual Router that nothing is heard.
func (h *Hub) unreadable(err error) {
	for _, wires := range *h.routes.Load() {
		for _, w := range wires {
			w.rejected.Add(netip.Addr{}, RejectSocket, err)
		}
	}
}

// Join adds a Virtual Router, by Router, Peers, AnyAddresses, Framed and Form of cfg. The wire has to be closed.
func (h *Hub) Join(cfg Config, log *slog.Logger) (Wire, error) {
	w := &hubWire{hub: h, cfg: cfg, box: newMailbox(), rejected: newRejections(log), unsent: unsent{log: log}}
	w.SetAddresses(cfg.Router.Addresses)
	id := cfg.Router.VRID
	err := h.reroute(false, func(routes map[uint8][]*hubWire) {
		routes[id] = append(slices.Clone(routes[id]), w)
	})
	if err != nil {
		return nil, fmt.Errorf("election: join virtual router %d: %w", id, err)
	}
	return w, nil
}

// leave takes a wire away. Its error is that of a filter that could not be narrowed.
func (h *Hub) leave(w *hubWire) error {
	err := h.reroute(true, func(routes map[uint8][]*hubWire) {
		id := w.cfg.Router.VRID
		routes[id] = slices.DeleteFunc(slices.Clone(routes[id]), func(o *hubWire) bool { return o == w })
		if len(routes[id]) == 0 {
			delete(routes, id)
		}
	})
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// reroute changes the routes, and the socket's filter with them. With an error from the filter a wire that joins is
// left out, and one that leaves is gone nevertheless.
func (h *Hub) reroute(leaving bool, change func(map[uint8][]*hubWire)) error {
	h.joining.Lock()
	defer h.joining.Unlock()
	next := maps.Clone(*h.routes.Load())
	change(next)
	if h.closed.Load() {
		h.routes.Store(&next)
		return net.ErrClosed
	}
	err := h.sock.SetFilter(wanted(next))
	if err == nil || leaving {
		h.routes.Store(&next)
	}
	return err
}

// wanted is what all wires together want of the socket. One that listens to anybody opens it for all: which source may
// speak to which Virtual Router, each wire decides again.
func wanted(routes map[uint8][]*hubWire) (vrids []uint8, peers []netip.Addr) {
	vrids = append([]uint8{}, slices.Sorted(maps.Keys(routes))...)
	for _, wires := range routes {
		for _, w := range wires {
			if len(w.cfg.Peers) == 0 {
				return vrids, nil
			}
			peers = append(peers, w.cfg.Peers...)
		}
	}
	slices.SortFunc(peers, netip.Addr.Compare)
	return vrids, slices.Compact(peers)
}

// Close closes the socket and waits for the reader.
func (h *Hub) Close() error {
	h.closed.Store(true)
	err := h.sock.Close()
	<-h.done
	return err
}
