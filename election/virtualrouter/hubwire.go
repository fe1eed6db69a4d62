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

func (w *hubWire) Send(adv vrrp.Advertisement) error {
	h := w.hub
	h.sending.Lock()
	defer h.sending.Unlock()
	if len(w.cfg.Peers) == 0 {
		return h.write(adv, h.sock.Group(), w.cfg.Form)
	}
	var errs []error
	for _, p := range w.cfg.Peers {
		if p != h.cfg.Source {
			errs = append(errs, h.write(adv, p, w.cfg.Form))
		}
	}
	return errors.Join(errs...)
}

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
