package link

import (
	"encoding/binary"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// askTime is how long resets wait for the kernel to ask for peers that it has forgotten: it may be busy, and most peers are known.
const askTime = 20 * time.Millisecond

// askBriefly is askForgotten for the peers of sockets, which waits no longer than that. Whoever is known is told all the same.
func askBriefly(locals map[netip.Addr]bool, all []socket) {
	h, err := Open(slog.New(slog.DiscardHandler))
	if err != nil {
		return
	}
	peers := make(map[netip.Addr]bool)
	for i := range all {
		peers[all[i].remote().Addr()] = true
	}
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		_ = errors.Join(h.askForgotten(locals, peers), h.Close())
	}()
	select {
	case <-asked:
	case <-time.After(askTime):
	}
}

// askForgotten has the kernel ask for the Ethernet addresses of peers that it has forgotten, in the name of an own address of the link. By itself it
// would ask in the name of the address that a reset comes from: a fence lets no such question leave, and its answer would draw the peer here.
// A reset waits in the kernel for the answer.
func (h *Handle) askForgotten(locals map[netip.Addr]bool, peers map[netip.Addr]bool) error {
	// By the addresses alone: a listing of links waits for whoever is changing one.
	msgs, err := h.kernel.dump(unix.RTM_GETADDR, unix.RTM_NEWADDR, message(make([]byte, unix.SizeofIfAddrmsg)))
	if err != nil {
		return err
	}
	links := map[int]*Link{}
	for _, m := range msgs {
		index, a, err := parseAddress(m)
		if err != nil {
			return err
		}
		if links[index] == nil {
			links[index] = &Link{Index: index}
		}
		links[index].Addresses = append(links[index].Addresses, a)
	}
	var errs []error
	for _, l := range links {
		if slices.ContainsFunc(l.Addresses, func(a Address) bool { return locals[a.Prefix.Addr()] }) {
			errs = append(errs, h.askAt(l, peers))
		}
	}
	return errors.Join(errs...)
}

// askAt asks for those peers on a link that the kernel does not know.
func (h *Handle) askAt(l *Link, peers map[netip.Addr]bool) error {
	known := map[netip.Addr]bool{}
	for _, v6 := range []bool{false, true} {
		some, err := h.Neighbours(l.Index, v6)
		if err != nil {
			return err
		}
		for _, a := range some {
			known[a] = true
		}
	}
	var forgotten []netip.Prefix
	for a := range peers {
		if !known[a] && l.reaches(a) {
			forgotten = append(forgotten, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	return h.kernel.all("ask for %s at interface %d: %w", l.Index, forgotten, func(p netip.Prefix) *nl.NetlinkRequest {
		return h.kernel.request(unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_ACK, []nl.NetlinkRequestData{useMessage(l.Index, p.Addr())})
	}, func(_ netip.Prefix, err error) error { return err })
}

// reaches tells whether an address is in a subnet of the link, and not one of its own.
func (l *Link) reaches(a netip.Addr) bool {
	in := false
	for _, own := range l.Addresses {
		if own.Prefix.Addr() == a {
			return false
		}
		in = in || own.Prefix.Contains(a)
	}
	return in
}

// useMessage is a struct ndmsg with NTF_USE: the neighbour is needed, which changes nothing of one that is known.
func useMessage(index int, a netip.Addr) message {
	m := message(make([]byte, unix.SizeofNdMsg))
	m[0] = family(a.Is6())
	binary.NativeEndian.PutUint32(m[4:], uint32(index))
	m[10] = unix.NTF_USE // ndm_flags
	return attribute(m, unix.NDA_DST, a.AsSlice())
}
