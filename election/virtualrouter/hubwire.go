package virtualrouter

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/vrrp"
)

// hubWire is one Virtual Router's share of a Hub.
type hubWire struct {
	hub       *Hub
	cfg       WireConfig
	addresses atomic.Pointer[[]netip.Addr]
	box       *mailbox
	rejected  *election.Rejections
	unsent    unsent
}

var _ Wire = (*hubWire)(nil)

// consider keeps what is for this Virtual Router. Two clusters that share a VRID by accident both keep working, because
// their lists have nothing in common, also when they have the same key: a relay between two links must not make one
// yield to the other. doubt is why it would be
// refused if authentication were insisted on. The answer is whether it was kept.
func (w *hubWire) consider(a Arrival, doubt error) bool {
	switch reason := w.refuses(a); reason {
	case "":
		if doubt != nil {
			w.rejected.Add(a.Source, reasonOf(doubt)+election.Permitted, doubt)
		}
		w.box.put(a)
		return true
	case vrrp.RejectAddresses, vrrp.RejectVersion:
		w.rejected.Add(a.Source, reason, &vrrp.PacketError{Reason: reason, Got: int(a.Advertisement.Version), Want: int(w.cfg.Version)})
	default:
		w.rejected.Add(a.Source, reason, nil)
	}
	return false
}

// refuses is why an advertisement is not for this Virtual Router, or empty.
func (w *hubWire) refuses(a Arrival) string {
	switch {
	case a.Source == w.hub.cfg.Source:
		return RejectOwn
	case len(w.cfg.Peers) > 0 && !slices.Contains(w.cfg.Peers, a.Source):
		return RejectPeer
	case !w.cfg.AnyAddresses && !a.Advertisement.Shares(*w.addresses.Load()):
		return vrrp.RejectAddresses
	case a.Advertisement.Version != w.cfg.Version:
		return vrrp.RejectVersion
	}
	return ""
}

func (w *hubWire) SetAddresses(list []netip.Addr) { w.addresses.Store(&list) }

func (w *hubWire) Arrived() <-chan struct{} { return w.box.arrived }

func (w *hubWire) Take(dst []Arrival) []Arrival { return w.box.take(dst) }

// Drain leaves an error to the reader, which sees it too.
func (w *hubWire) Drain() { _, _ = w.hub.drain() }

// Send fails if the advertisement has left to nobody. Whoever gets it stays Backup, so that a peer which the kernel refuses
// must not silence this node for all of them.
func (w *hubWire) Send(adv vrrp.Advertisement) error {
	if len(w.cfg.Peers) == 0 {
		h := w.hub
		h.sending.Lock()
		defer h.sending.Unlock()
		return h.write(adv, h.sock.Group(), w.cfg.Form)
	}
	left, refused := w.sendToPeers(adv)
	if left == 0 {
		var errs []error
		for _, r := range refused {
			errs = append(errs, r.err)
		}
		return errors.Join(errs...)
	}
	w.unsent.note(time.Now(), refused)
	return nil
}

func (w *hubWire) sendToPeers(adv vrrp.Advertisement) (left int, refused []refusal) {
	h := w.hub
	h.sending.Lock()
	defer h.sending.Unlock()
	for _, p := range w.cfg.Peers {
		if p == h.cfg.Source {
			continue
		}
		if err := h.write(adv, p, w.cfg.Form); err != nil {
			refused = append(refused, refusal{p, err})
		} else {
			left++
		}
	}
	if left > 0 && h.sock.Waits() {
		h.pass(adv, w.cfg.Form)
	}
	return left, refused
}

// pass puts the advertisement on the link for nobody. The kernel's lease is renewed by what leaves on the link, and nothing does while the
// MAC of no peer is known: the peers are dead, or have never been started, and this node is the one to serve. If this fails, the link is at
// fault, and the lease ends.
func (h *Hub) pass(adv vrrp.Advertisement, form vrrp.ChecksumForm) {
	if b, err := h.cfg.Auth.Append(h.buf[:0], adv, h.cfg.Source, h.cfg.Source, form, time.Now()); err == nil {
		_ = h.sock.WriteLink(b)
	}
}

func (w *hubWire) Unsent() (uint64, map[netip.Addr]error) { return w.unsent.get() }

func (h *Hub) write(adv vrrp.Advertisement, dst netip.Addr, form vrrp.ChecksumForm) error {
	b, err := h.cfg.Auth.Append(h.buf[:0], adv, h.cfg.Source, dst, form, time.Now())
	if err != nil {
		return fmt.Errorf("election: encode for %s: %w", dst, err)
	}
	if err := h.sock.Write(b, dst); err != nil {
		return fmt.Errorf("election: advertise to %s: %w", dst, err)
	}
	return nil
}

func (w *hubWire) Rejections() *election.Rejections { return w.rejected }

func (w *hubWire) Close() error { return w.hub.leave(w) }
