package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// perBatch is how many requests are on their way at a time: their answers have to fit into a socket's ordinary receive buffer.
const perBatch = 100

// Add puts addresses on the interface, or renews them there: for valid (whole seconds, rounded up) the kernel keeps them, then it removes them
// by itself; 0 is for ever. Adding what is there already, ours or not, only sets its lifetime and marks it as ours.
//
// An address is listed as [Handle.ListAs] says. It gets no prefix route, is deprecated from the start, and in IPv6 skips duplicate address
// detection, because the election has decided who owns it and clients are waiting. It needs CAP_NET_ADMIN. One that is refused does not keep
// the others back; the error then names the first, says how many there are, and wraps errGone or errNoIPv6 where that is the cause.
func (h *Handle) Add(index int, ps []netip.Prefix, valid time.Duration) error {
	seconds, err := lifetime(valid)
	if err != nil {
		return fmt.Errorf("link: add %d addresses to interface %d: %w", len(ps), index, err)
	}
	return h.kernel.all("add %s to interface %d: %w", index, ps, func(p netip.Prefix) *nl.NetlinkRequest {
		return h.kernel.request(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_REPLACE|unix.NLM_F_ACK, []nl.NetlinkRequestData{listedAs(addressMessage(index, p, h.tag, seconds), h.listingOf(p.Addr()))})
	}, answerError)
}

// Remove takes addresses off the interface. An address or an interface that is not there is no error. It needs CAP_NET_ADMIN.
//
// An IPv4 address with the length of a subnet goes alone: the others of its subnet stay, whatever promote_secondaries says.
func (h *Handle) Remove(index int, ps ...netip.Prefix) error {
	var rest []netip.Prefix
	for _, p := range ps {
		if !p.Addr().Is4() || p.Bits() == p.Addr().BitLen() || validate(index, p) != nil {
			rest = append(rest, p)
		} else if err := h.kernel.removePrimary(index, p); err != nil {
			return fmt.Errorf("link: remove %s from interface %d: %w", p, index, err)
		}
	}
	ps = rest
	return h.kernel.all("remove %s from interface %d: %w", index, ps, func(p netip.Prefix) *nl.NetlinkRequest {
		return h.kernel.request(unix.RTM_DELADDR, unix.NLM_F_ACK, []nl.NetlinkRequestData{bareMessage(index, p)})
	}, func(_ netip.Prefix, err error) error { return unlessGone(err) })
}

// all sends one request for each address and collects what was refused.
func (k kernel) all(step string, index int, ps []netip.Prefix, request func(netip.Prefix) *nl.NetlinkRequest, read func(netip.Prefix, error) error) error {
	for _, p := range ps {
		if err := validate(index, p); err != nil {
			return fmt.Errorf("link: "+step, p, index, err)
		}
	}
	var first error
	refused := 0
	for len(ps) > 0 {
		part := ps[:min(perBatch, len(ps))]
		ps = ps[len(part):]
		requests := make([]*nl.NetlinkRequest, len(part))
		for i, p := range part {
			requests[i] = request(p)
		}
		var answers []error
		var err error
		onOwnStack(func() { answers, err = k.pipeline(requests) })
		if err != nil {
			return fmt.Errorf("link: "+step, part[0], index, err)
		}
		for i, p := range part {
			if err := read(p, answers[i]); err != nil {
				if refused++; first == nil {
					first = fmt.Errorf("link: "+step, p, index, err)
				}
			}
		}
	}
	if refused > 1 {
		return fmt.Errorf("%w (and %d more)", first, refused-1)
	}
	return first
}

// pipeline sends all requests in one message and returns the kernel's answer to each.
func (k kernel) pipeline(requests []*nl.NetlinkRequest) ([]error, error) {
	s := k.route.Socket
	s.Lock()
	defer s.Unlock()
	at := make(map[uint32]int, len(requests))
	var b []byte
	for i, r := range requests {
		r.Seq = atomic.AddUint32(&k.route.Seq, 1)
		at[r.Seq] = i
		b = append(b, r.Serialize()...)
	}
	if err := unix.Sendto(s.GetFd(), b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, fmt.Errorf("send to rtnetlink: %w", err)
	}
	said := make([]error, len(requests))
	all := answersOn(s)
	defer all.end()
	for missing := len(requests); missing > 0; {
		msgs, err := all.next()
		if err != nil {
			return nil, fmt.Errorf("receive from rtnetlink: %w", err)
		}
		for _, m := range msgs {
			i, ours := at[m.Header.Seq]
			if !ours || m.Header.Type != unix.NLMSG_ERROR || len(m.Data) < 4 {
				continue // the answer to a request that nobody waits for any more
			}
			delete(at, m.Header.Seq)
			missing--
			if code := int32(binary.NativeEndian.Uint32(m.Data)); code != 0 {
				said[i] = unix.Errno(-code)
			}
		}
	}
	return said, nil
}

// answerError reads the kernel's answer to a request to add p.
func answerError(p netip.Prefix, err error) error {
	switch {
	case errors.Is(err, unix.ENODEV):
		return errGone
	case p.Addr().Is6() && (errors.Is(err, unix.EACCES) || errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EOPNOTSUPP)):
		return errNoIPv6
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w (it takes CAP_NET_ADMIN)", err)
	}
	return err
}

// unlessGone reads its answer to a request to remove an address.
func unlessGone(err error) error {
	if errors.Is(err, unix.EADDRNOTAVAIL) || errors.Is(err, unix.ENODEV) {
		return nil
	}
	return err
}
