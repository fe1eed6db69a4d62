package election

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/keepvip/keepvip/vrrp"
)

// Socket is what a Hub needs of vrrp.Conn.
type Socket interface {
	Write(payload []byte, dst netip.Addr) error
	Wait() error
	Drain(fn func(vrrp.Datagram)) error
	SetFilter(vrids []uint8) error
	Group() netip.Addr
	Close() error
}

// HubConfig names the socket that a Hub shares.
type HubConfig struct {
	Interface net.Interface
	Source    netip.Addr // own address on Interface; its family is the hub's
	Unicast   bool       // do not join the multicast group
}

// Hub reads one socket for all Virtual Routers of an interface and family, and hands each
// advertisement to those that it concerns. Safe for concurrent use.
type Hub struct {
	source netip.Addr
	sock   Socket
	done   chan struct{}

	mu       sync.Mutex // guards what follows
	wires    map[uint8][]*hubWire
	rejected map[string]uint64
	buf      []byte
	closed   bool
}

// NewHub starts to read sock, which it owns from now on. Close ends that.
func NewHub(source netip.Addr, sock Socket) *Hub {
	h := &Hub{
		source: source, sock: sock, done: make(chan struct{}),
		wires: map[uint8][]*hubWire{}, rejected: map[string]uint64{},
		buf: make([]byte, 0, 1500),
	}
	go h.read()
	return h
}

// readPause keeps a socket that fails at once, again and again, from taking the processor.
const readPause = 100 * time.Millisecond

func (h *Hub) read() {
	defer close(h.done)
	for {
		err := h.sock.Wait()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			err = h.drain()
		}
		if err != nil {
			h.reject("socket")
			<-time.After(readPause)
		}
	}
}

func (h *Hub) drain() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil
	}
	now := time.Now()
	return h.sock.Drain(func(d vrrp.Datagram) { h.deliver(d, now.Add(-d.Age)) })
}

// deliver parses once and hands to every wire of the VRID that knows one of the addresses. The caller
// holds the lock; d.Payload is only valid until deliver returns.
func (h *Hub) deliver(d vrrp.Datagram, at time.Time) {
	adv, _, err := vrrp.Parse(d.Payload, d.Source, d.Destination)
	if err != nil {
		h.rejected[reasonOf(err)]++
		return
	}
	wires := h.wires[adv.VRID]
	if len(wires) == 0 {
		h.rejected["vrid"]++
		return
	}
	for _, w := range wires {
		w.consider(Arrival{Source: d.Source, Advertisement: adv, At: at})
	}
}

func reasonOf(err error) string {
	var pe *vrrp.PacketError
	if errors.As(err, &pe) {
		return string(pe.Reason)
	}
	return "other"
}

func (h *Hub) reject(reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rejected[reason]++
}

// WireConfig says which advertisements are a Virtual Router's own, and where it sends to.
type WireConfig struct {
	Version   uint8
	VRID      uint8
	Addresses []netip.Addr // an advertisement that shares none of these belongs to another cluster
	Peers     []netip.Addr // unicast: where to send, and who is listened to; empty: the multicast group
	Form      vrrp.ChecksumForm
}

// Join adds a Virtual Router. The wire has to be closed.
func (h *Hub) Join(cfg WireConfig) (Wire, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, fmt.Errorf("election: join virtual router %d: %w", cfg.VRID, net.ErrClosed)
	}
	w := &hubWire{hub: h, cfg: cfg, box: newMailbox(), rejected: map[string]uint64{}}
	h.wires[cfg.VRID] = append(h.wires[cfg.VRID], w)
	if err := h.sock.SetFilter(h.vrids()); err != nil {
		h.remove(w)
		return nil, fmt.Errorf("election: filter for virtual router %d: %w", cfg.VRID, err)
	}
	return w, nil
}

func (h *Hub) vrids() []uint8 {
	return slices.Sorted(maps.Keys(h.wires))
}

func (h *Hub) remove(w *hubWire) {
	id := w.cfg.VRID
	rest := slices.DeleteFunc(h.wires[id], func(o *hubWire) bool { return o == w })
	if len(rest) == 0 {
		delete(h.wires, id)
		return
	}
	h.wires[id] = rest
}

// Idle tells that no Virtual Router uses the hub.
func (h *Hub) Idle() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.wires) == 0
}

// Close closes the socket and waits for the reader.
func (h *Hub) Close() error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	err := h.sock.Close()
	<-h.done
	return err
}
