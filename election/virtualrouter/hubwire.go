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
	cfg       Config // as it has joined; the addresses may have changed
	addresses atomic.Pointer[[]netip.Addr]
	box       *mailbox
	rejected  *election.Rejections
	unsent    unsent
}

var _ Wire = (*hubWire)(nil)

// consider keeps what is for this Virtual Router. Two clusters that share a VRID by accident both keep working, because
// their lists have nothing in common, also when they have the same key: a relay between two links must not make one
// yield to the other. doubt is why it would be
// refused if authentication were demanded. The answer is whether it was kept.
func (w *hubWire) consider(a Arrival, doubt error) bool {
	switch reason := w.refuses(a); reason {
	case "":
		if doubt != nil {
			w.rejected.Add(a.Source, reasonOf(doubt)+election.Permitted, doubt)
		}
		w.box.put(a)
		return true
	case vrrp.RejectAddresses, vrrp.RejectVersion:
		w.rejected.Add(a.Source, reason, &vrrp.PacketError{Reason: reason, Got: int(a.Advertisement.Version), Want: int(w.cfg.Router.Version)})
	default:
		w.rejected.Add(a.Source, reason, nil)
	}
	return false
}

// refuses is why an advertisement is not for this Virtual Router, or empty.
func (w *hubWire) refuses(a Arrival) string {
	switch {
	case a.Source == w.hub.source:
		return RejectOwn
	case !w.cfg.AnyAddresses && !a.Advertisement.Shares(*w.addresses.Load()):
		return vrrp.RejectAddresses
	case len(a.Advertisement.Addresses) == 0 && len(*w.addresses.Load()) > 0:
		return vrrp.RejectCount
	case w.unlisted(a.Source):
		return RejectPeer
	case a.Advertisement.Version != w.cfg.Router.Version:
		return vrrp.RejectVersion
	}
	return ""
}

// unlisted tells of a Virtual Router with peers whether the source is none of them.
func (w *hubWire) unlisted(source netip.Addr) bool {
	return len(w.cfg.Peers) > 0 && !slices.Contains(w.cfg.Peers, source)
}

func (w *hubWire) SetAddresses(list []netip.Addr) { w.addresses.Store(&list) }

func (w *hubWire) Arrived() <-chan struct{} { return w.box.arrived }

func (w *hubWire) Take(dst []Arrival) []Arrival { return w.box.take(dst) }

// drainedNews is for how long what one Virtual Router has drained will do for the others.
const drainedNews = 2 * time.Millisecond

// Drain leaves an error to the reader, which sees it too. Hundreds of Virtual Routers are due at the same moment: one reads for those that come
// right after it.
func (w *hubWire) Drain(by time.Time) {
	if at := w.hub.drained.Load(); at != nil && at.After(by) && time.Since(*at) < drainedNews {
		return
	}
	_, _ = w.hub.drain()
}

// Send fails if the advertisement has left to nobody, or if by unicast the kernel's lease has no packet to be renewed by. Whoever gets the
// advertisement stays Backup, so that a peer which the kernel refuses must not silence this node for all of them.
func (w *hubWire) Send(adv vrrp.Advertisement) error {
	h := w.hub
	h.sending.Lock()
	defer h.sending.Unlock()
	if len(w.cfg.Peers) == 0 && !w.cfg.Framed {
		return h.write(adv, h.sock.Group(), w.cfg.Form)
	}
	for first, tries := time.Now(), 0; ; {
		began := time.Now()
		others, refused := w.sendToPeers(adv)
		if others > 0 && len(refused) == others {
			var errs []error
			for _, r := range refused {
				errs = append(errs, r.err)
			}
			return errors.Join(errs...)
		}
		w.unsent.note(time.Now(), refused)
		tries++
		switch {
		case time.Since(began) <= jiffy: // which the lease is shorter than what the peers wait
			return h.renewLease(adv, w.cfg.Form)
		case adv.Priority == 0, tries == mostTries, time.Since(first) >= adv.Interval: // the next advertisement renews it
			return nil
		}
	}
}

// mostTries is how often an advertisement leaves at once, to peers, that has to renew the kernel's lease and took too long for that: a new holder
// would be silent until the next one. Within an interval nobody has taken its place.
const mostTries = 3

// sendToPeers sends to the others on the list, and tells how many they are and which of them the kernel has refused.
func (w *hubWire) sendToPeers(adv vrrp.Advertisement) (others int, refused []unsentTo) {
	to := w.cfg.Peers
	if len(to) == 0 {
		to = []netip.Addr{w.hub.sock.Group()}
	}
	for _, p := range to {
		if p == w.hub.source {
			continue
		}
		others++
		if err := w.hub.write(adv, p, w.cfg.Form); err != nil {
			refused = append(refused, unsentTo{p, err})
		}
	}
	return others, refused
}

// renewLease puts the advertisement on the link for nobody, and so renews the kernel's lease. What goes to a peer does not: it waits in the kernel
// until the peer's MAC is known, which is never while the peer is dead, or longer than this process lives. Nobody reads its list of addresses,
// and a packet socket does not send what is longer than the link's MTU.
func (h *Hub) renewLease(adv vrrp.Advertisement, form vrrp.ChecksumForm) error {
	adv.Addresses = adv.Addresses[:min(len(adv.Addresses), 1)]
	b, err := h.auth.Append(h.buf[:0], adv, h.source, h.source, form, time.Now())
	if err != nil {
		return fmt.Errorf("election: encode for the link: %w", err)
	}
	if err := h.sock.WriteLink(b); err != nil {
		return fmt.Errorf("election: advertise on the link: %w", err)
	}
	return nil
}

func (w *hubWire) Unsent() (uint64, map[netip.Addr]error) { return w.unsent.get() }

func (h *Hub) write(adv vrrp.Advertisement, dst netip.Addr, form vrrp.ChecksumForm) error {
	b, err := h.auth.Append(h.buf[:0], adv, h.source, dst, form, time.Now())
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
