package members

import (
	"cmp"
	"errors"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keepvip/keepvip/internal/base/nudge"
	"github.com/keepvip/keepvip/internal/base/spare"
	"github.com/keepvip/keepvip/members/envelope"
	"github.com/keepvip/keepvip/members/lifeline"
	"github.com/keepvip/keepvip/members/pulse"
)

// Socket is what a Hub needs of a Conn.
type Socket interface {
	Send(b []byte, to ...netip.Addr) error // to none: to the group
	Receive(b []byte) (Arrival, error)
	Close() error
}

// Hub reads one socket for all groups of a node on an interface and family. Safe for concurrent use.
type Hub struct {
	source netip.Addr // own address
	link   string     // tells links apart on which the same address may send
	auth   *Auth
	heard  func(source netip.Addr, session uint64, leaves bool)
	sock   Socket
	done   chan struct{}

	noticed time.Time // when a group was told last of a message that names none; the reader's

	pulse atomic.Pointer[pulse.Pulse] // nil: nobody here goes by beats

	mu       sync.Mutex // guards what follows
	wires    []*Wire
	rejected map[Reason]uint64 // what belongs to no group of ours

	sending sync.Mutex // guards buf, and keeps the sequence in order
	buf     []byte
}

// NewHub starts to read sock, which it owns from now on. Close ends that. at says where the socket is: its Source and
// Interface are used. heard is told of each message that is believed: whose it is, of which session, and whether that
// leaves. heard must not wait; nil: nobody is told.
func NewHub(sock Socket, at ConnConfig, auth *Auth, heard func(source netip.Addr, session uint64, leaves bool)) *Hub {
	h := &Hub{
		source: at.Source.WithZone(""), link: strconv.Itoa(at.Interface.Index), auth: auth, heard: heard,
		sock: sock, done: make(chan struct{}), rejected: map[Reason]uint64{},
	}
	go h.read()
	return h
}

// readPause keeps a socket that fails at once, again and again, from taking the processor.
const readPause = 100 * time.Millisecond

func (h *Hub) read() {
	defer close(h.done)
	buf := make([]byte, maxMessage)
	for {
		a, err := h.sock.Receive(buf)
		var packet *envelope.PacketError
		switch {
		case err == nil:
			h.deliver(buf[:a.Length], a)
		case errors.Is(err, net.ErrClosed):
			return
		case errors.As(err, &packet):
			h.reject(packet.Reason)
		default:
			h.reject(envelope.RejectSocket)
			<-time.After(readPause)
		}
	}
}

// deliver looks at who speaks before it looks at what is said.
func (h *Hub) deliver(b []byte, a Arrival) {
	source := a.Source
	if why := h.unheard(source, a.ttl()); why != "" {
		h.reject(why)
		h.name(b, a, why)
		return
	}
	if pulse.Is(b) {
		h.deliverPulse(b, a)
		return
	}
	m, by, err := h.auth.verify(b, source.WithZone(h.link), time.Now())
	var packet *envelope.PacketError
	if errors.As(err, &packet) {
		h.reject(packet.Reason)
		h.notice(b, source, packet.Reason)
		return
	}
	listed := h.hearing(source, m.Peer.Group)
	wires := slices.DeleteFunc(slices.Clone(listed), func(w *Wire) bool { return a.ttl() < w.leastTTL })
	switch {
	case len(wires) > 0:
	case len(listed) > 0:
		h.reject(RejectTTL)
		h.name(b, a, RejectTTL)
	default:
		h.reject(envelope.RejectGroup)
		h.name(b, a, RejectPeer) // another group listens to the sender
	}
	if len(wires) > 0 && h.heard != nil {
		h.heard(source, m.Session, m.Peer.Lifetime <= 0)
	}
	if len(wires) > 0 {
		h.meet(source, &m.Peer)
	}
	for _, w := range wires {
		w.put(Received{Source: source, Message: m, At: a.At, Signed: by.signed, Doubt: by.doubt})
	}
}

// LineEnded tells all groups that listen to a member that the line to it has ended.
func (h *Hub) LineEnded(e lifeline.Event) {
	for _, w := range h.hearing(e.Member, netip.Addr{}) {
		w.put(Received{Source: e.Member, Line: e.Kind, At: e.At})
	}
}

// noticeEvery bounds what forged messages can make each group do.
const noticeEvery = 50 * time.Millisecond

// notice tells a group that a message was refused which somebody who is believed might have sent. What the message says
// about its group only decides who is told. Of a message whose group cannot be read, one group at a time is told, the one whose turn it
// is: each may answer with a HELLO, and one datagram would draw as many as there are groups.
func (h *Hub) notice(b []byte, source netip.Addr, r Reason) {
	switch r {
	case RejectUnsigned, RejectKey, RejectMAC, RejectStale, RejectVersion:
	default:
		return
	}
	m, _, _ := Parse(b)
	now := time.Now()
	wires := h.hearing(source, m.Peer.Group)
	if !m.Peer.Group.IsValid() && len(wires) > 0 {
		if now.Sub(h.noticed) < noticeEvery {
			return
		}
		h.noticed = now
		wires = []*Wire{slices.MinFunc(wires, func(a, b *Wire) int { return a.noticed.Compare(b.noticed) })}
	}
	for _, w := range wires {
		if now.Sub(w.noticed) >= noticeEvery {
			w.noticed = now
			w.put(Received{Source: source, Refused: r, At: now})
		}
	}
}

// unheard is why no group listens to what comes from source with that TTL; empty: one does.
func (h *Hub) unheard(source netip.Addr, ttl int) Reason {
	h.mu.Lock()
	defer h.mu.Unlock()
	why := RejectPeer
	for _, w := range h.wires {
		switch {
		case !w.hears(source):
		case ttl < w.leastTTL:
			why = RejectTTL
		default:
			return ""
		}
	}
	return why
}

// name tells the groups that a message is for, by what it says, that it was refused for its sender's address, or for its TTL: what looks like a
// filter on the way is the configuration. Nothing of it is believed, and each group hears of it as seldom as of others ([Hub.notice]).
func (h *Hub) name(b []byte, a Arrival, why Reason) {
	m, _, err := Parse(b)
	if err != nil {
		return
	}
	h.mu.Lock()
	wires := slices.DeleteFunc(slices.Clone(h.wires), func(w *Wire) bool { return w.group != m.Peer.Group })
	h.mu.Unlock()
	for _, w := range wires {
		if a.At.Sub(w.named) >= noticeEvery {
			w.named = a.At
			w.put(Received{Source: a.Source, Refused: why, At: a.At, TTL: a.ttl()})
		}
	}
}

// ttl is the TTL of the packet; one that is not known has passed as 255.
func (a Arrival) ttl() int { return cmp.Or(a.TTL, envelope.HopLimit) }

// hearing lists the wires of a group that listen to source; of all groups for none.
func (h *Hub) hearing(source, group netip.Addr) (out []*Wire) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.wires {
		if w.hears(source) && (!group.IsValid() || w.group == group) {
			out = append(out, w)
		}
	}
	return out
}

func (h *Hub) reject(r Reason) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rejected[r]++
}

// Join adds a group. Its wire has to be closed. While entries exchange their addresses there may be two of one group for
// a moment: both hear it. minTTL is the least TTL or hop limit of what peers say; 0: 255.
func (h *Hub) Join(group netip.Addr, peers []netip.Addr, minTTL uint8) *Wire {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := &Wire{hub: h, group: group, leastTTL: cmp.Or(int(minTTL), envelope.HopLimit), arrived: nudge.New()}
	for _, p := range peers {
		w.peers = append(w.peers, p.WithZone(""))
		if p.WithZone("") != h.source {
			w.to = append(w.to, p.WithZone(""))
		}
	}
	h.wires = append(h.wires, w)
	return w
}

// Close closes the socket and waits for the reader.
func (h *Hub) Close() error {
	err := h.sock.Close()
	<-h.done
	return err
}

// maxWaiting is more than a group of any size says at once.
const maxWaiting = 256

// Wire is one group's share of a Hub.
type Wire struct {
	hub   *Hub
	group netip.Addr // the first of the addresses, by which the group is known
	// peers are whom the group's messages go to and who is heard, in any order; the own address may be among them.
	// None: everybody on the link, by the group of VRRP.
	peers    []netip.Addr
	to       []netip.Addr // the peers without this node
	leastTTL int          // or hop limit, of what peers say
	arrived  nudge.Signal // a level
	noticed  time.Time    // when the group was told last that a message was refused; the reader's
	named    time.Time    // when the group was told last of a sender that it does not listen to; the reader's

	mu       sync.Mutex // guards what follows
	waiting  []Received
	overflow uint64
}

// queues are what wires keep messages in: each has any for as long as nobody has taken them.
var queues spare.Slices[Received]

// Rename makes the wire that of another group: the first of the addresses has changed.
func (w *Wire) Rename(group netip.Addr) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.group = group
}

// hears tells whether what source says is for this group.
func (w *Wire) hears(source netip.Addr) bool {
	return len(w.peers) == 0 || slices.Contains(w.peers, source)
}

// put keeps a message until it is taken. Of what comes in faster than it is taken the newest is dropped.
func (w *Wire) put(r Received) {
	w.mu.Lock()
	if len(w.waiting) < maxWaiting {
		if w.waiting == nil {
			w.waiting = queues.Lend()
		}
		w.waiting = append(w.waiting, r)
	} else {
		w.overflow++
	}
	w.mu.Unlock()
	w.arrived.Send()
}

// Arrived has a value when Take may have something.
func (w *Wire) Arrived() <-chan struct{} { return w.arrived }

// Take appends what has come in to dst, in order.
func (w *Wire) Take(dst []Received) []Received {
	w.mu.Lock()
	defer w.mu.Unlock()
	dst = append(dst, w.waiting...)
	queues.Back(w.waiting)
	w.waiting = nil
	return dst
}

// Send sends a message to all members.
func (w *Wire) Send(m Message) error {
	h := w.hub
	if len(w.peers) > 0 && len(w.to) == 0 {
		return nil // nobody but this node
	}
	h.sending.Lock()
	defer h.sending.Unlock()
	b, err := h.auth.sign(h.buf[:0], m, h.source, time.Now())
	if err != nil {
		return err
	}
	h.buf = b
	return h.sock.Send(b, w.to...)
}

// Rejected counts what was refused, by reason: of this group, and of the whole socket where no group can be told.
func (w *Wire) Rejected() map[Reason]uint64 {
	w.hub.mu.Lock()
	out := maps.Clone(w.hub.rejected)
	w.hub.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.overflow > 0 {
		out[envelope.RejectOverflow] = w.overflow
	}
	return out
}

// Close gives the wire back.
func (w *Wire) Close() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.hub.wires = slices.DeleteFunc(w.hub.wires, func(o *Wire) bool { return o == w })
}
