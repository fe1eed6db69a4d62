package election

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/keepvip/keepvip/vrrp"
)

// hubWire is one Virtual Router's share of a Hub.
type hubWire struct {
	hub *Hub
	cfg WireConfig
	box *mailbox

	rejected map[string]uint64 // guarded by hub.mu
}

var _ Wire = (*hubWire)(nil)

// consider keeps what is for this Virtual Router. Two clusters that share a VRID by accident both keep
// working, because their lists have nothing in common. The caller holds the hub's lock.
func (w *hubWire) consider(a Arrival) {
	switch {
	case a.Source == w.hub.source:
		w.rejected["own"]++
	case a.Advertisement.Version != w.cfg.Version:
		w.rejected["version"]++
	case len(w.cfg.Peers) > 0 && !slices.Contains(w.cfg.Peers, a.Source):
		w.rejected["peer"]++
	case !shares(a.Advertisement.Addresses, w.cfg.Addresses):
		w.rejected["addresses"]++
	default:
		w.box.put(a)
	}
}

func shares(a, b []netip.Addr) bool {
	return slices.ContainsFunc(a, func(x netip.Addr) bool { return slices.Contains(b, x) })
}

func (w *hubWire) Arrived() <-chan struct{} { return w.box.arrived }

func (w *hubWire) Take(dst []Arrival) []Arrival { return w.box.take(dst) }

// Drain leaves an error to the reader, which sees it too.
func (w *hubWire) Drain() { _ = w.hub.drain() }

func (w *hubWire) Send(adv vrrp.Advertisement) error {
	h := w.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(w.cfg.Peers) == 0 {
		return h.write(adv, h.sock.Group(), w.cfg.Form)
	}
	var errs []error
	for _, p := range w.cfg.Peers {
		if p != h.source {
			errs = append(errs, h.write(adv, p, w.cfg.Form))
		}
	}
	return errors.Join(errs...)
}

func (h *Hub) write(adv vrrp.Advertisement, dst netip.Addr, form vrrp.ChecksumForm) error {
	b, err := adv.Append(h.buf[:0], h.source, dst, form)
	if err != nil {
		return fmt.Errorf("election: encode for %s: %w", dst, err)
	}
	if err := h.sock.Write(b, dst); err != nil {
		return fmt.Errorf("election: advertise to %s: %w", dst, err)
	}
	return nil
}

func (w *hubWire) Rejected() map[string]uint64 {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	out := maps.Clone(w.hub.rejected)
	for k, n := range w.rejected {
		out[k] += n
	}
	return out
}

func (w *hubWire) Close() error {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.hub.remove(w)
	if w.hub.closed {
		return nil
	}
	return w.hub.sock.SetFilter(w.hub.vrids())
}
