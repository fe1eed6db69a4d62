package link

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Errors that a caller of Add can act on.
var (
	// ErrNoIPv6: IPv6 is off in the kernel or on the interface.
	ErrNoIPv6 = errors.New("IPv6 is disabled on this interface (sysctl net.ipv6.conf.<interface>.disable_ipv6)")
	// ErrGone: there is no interface with that index any more.
	ErrGone = errors.New("the interface is gone")
)

// replyTimeout bounds one exchange with the kernel; rtnetlink answers in microseconds unless another holder of its lock is slow.
const replyTimeout = 10 * time.Second

// Handle is a connection to the kernel's address table, in the network namespace in which it was opened.
// It may be used from several goroutines at once.
type Handle struct {
	log   *slog.Logger
	route *nl.SocketHandle
	tag   tag
}

// Open connects to the kernel. Listing needs no privilege; Add and Remove need CAP_NET_ADMIN.
func Open(log *slog.Logger) (*Handle, error) {
	s, err := nl.Subscribe(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("link: open rtnetlink: %w", err)
	}
	timeout := unix.NsecToTimeval(replyTimeout.Nanoseconds())
	if err := errors.Join(s.SetSendTimeout(&timeout), s.SetReceiveTimeout(&timeout)); err != nil {
		s.Close()
		return nil, fmt.Errorf("link: open rtnetlink: %w", err)
	}
	// Without the extended text an error is only an errno; kernels that lack it (before 4.12) are not worth failing for.
	_ = s.SetExtAck(true)
	return &Handle{log: log, route: &nl.SocketHandle{Socket: s}, tag: tagFor(kernelRelease())}, nil
}

// Close ends the connection. What Add did stays.
func (h *Handle) Close() error {
	h.route.Close()
	return nil
}

// Add puts p on the interface, or renews it there: for valid (whole seconds, rounded up) the kernel keeps the address, then it removes it by
// itself; 0 is for ever. Adding what is there already, ours or not, only sets its lifetime and marks it as ours.
//
// The address gets no prefix route, is deprecated from the start, and in IPv6 skips duplicate address detection, because the election has
// decided who owns it and clients are waiting. It needs CAP_NET_ADMIN. The error wraps ErrGone or ErrNoIPv6 where that is the cause.
func (h *Handle) Add(index int, p netip.Prefix, valid time.Duration) error {
	if err := h.add(index, p, valid); err != nil {
		return fmt.Errorf("link: add %s to interface %d: %w", p, index, err)
	}
	return nil
}

func (h *Handle) add(index int, p netip.Prefix, valid time.Duration) error {
	seconds, err := lifetime(valid)
	if err != nil {
		return err
	}
	if err := check(index, p); err != nil {
		return err
	}
	return refusal(p, h.do(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, addressMessage(index, p, h.tag, seconds)))
}

// Remove takes p off the interface. An address or an interface that is not there is no error. It needs CAP_NET_ADMIN.
func (h *Handle) Remove(index int, p netip.Prefix) error {
	err := check(index, p)
	if err == nil {
		err = unlessGone(h.do(unix.RTM_DELADDR, 0, bareMessage(index, p)))
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("link: remove %s from interface %d: %w", p, index, err)
}

// check refuses what the kernel would take for something else: an index of 0, and an address in IPv4-mapped form or with a zone.
func check(index int, p netip.Prefix) error {
	if index <= 0 || int64(index) > math.MaxInt32 {
		return fmt.Errorf("interface index %d, want 1 or more", index)
	}
	if a := p.Addr(); !p.IsValid() || a.Is4In6() || a.Zone() != "" {
		return fmt.Errorf("prefix %q, want a plain IPv4 or IPv6 address with a length", p)
	}
	return nil
}

// lifetime turns a duration into the kernel's seconds.
func lifetime(valid time.Duration) (uint32, error) {
	switch s := (valid + time.Second - 1) / time.Second; {
	case valid < 0:
		return 0, fmt.Errorf("lifetime %s, want 0 (for ever) or more", valid)
	case valid == 0 || s >= forever:
		return forever, nil
	default:
		return uint32(s), nil
	}
}

// do sends one request to rtnetlink and waits for the kernel's verdict.
func (h *Handle) do(kind, flags int, data ...nl.NetlinkRequestData) error {
	_, err := execute(h.request(kind, flags|unix.NLM_F_ACK, data), unix.NETLINK_ROUTE, 0)
	return err
}

func (h *Handle) request(kind, flags int, data []nl.NetlinkRequestData) *nl.NetlinkRequest {
	r := nl.NewNetlinkRequest(kind, flags)
	r.Sockets = map[int]*nl.SocketHandle{unix.NETLINK_ROUTE: h.route}
	for _, d := range data {
		r.AddData(d)
	}
	return r
}
