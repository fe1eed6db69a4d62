package link

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Errors that a caller of Add can act on.
var (
	// errNoIPv6: IPv6 is off in the kernel or on the interface.
	errNoIPv6 = errors.New("IPv6 is disabled on this interface (sysctl net.ipv6.conf.<interface>.disable_ipv6)")
	// errGone: there is no interface with that index any more.
	errGone = errors.New("the interface is gone")
)

// replyTimeout bounds one exchange with the kernel; rtnetlink answers in microseconds unless another holder of its lock is slow.
const replyTimeout = 10 * time.Second

// Handle is a connection to the kernel's address table, in the network namespace in which it was opened.
// It may be used from several goroutines at once.
type Handle struct {
	log      *slog.Logger
	kernel   kernel
	tag      tag
	listings atomic.Pointer[map[netip.Addr]Listing]
	// before is what arp_announce of an interface was before keepvip changed it, by the interface's index. The alias of a
	// macvlan says so, too, but somebody else may delete the macvlan.
	before sync.Map
	given  atomic.Uint64 // counts how often one was given back
}

// kernel is asked by one socket. It has no opinion of which addresses are ours, or how they are listed.
type kernel struct{ route *nl.SocketHandle }

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
	return &Handle{log: log, kernel: kernel{&nl.SocketHandle{Socket: s}}, tag: tagFor(kernelRelease())}, nil
}

// Close ends the connection. What Add did stays.
func (h *Handle) Close() error {
	h.kernel.route.Close()
	return nil
}

// validate refuses what the kernel would take for something else: an index of 0, and an address in IPv4-mapped form or with a zone.
func validate(index int, p netip.Prefix) error {
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

func (k kernel) request(kind, flags int, data []nl.NetlinkRequestData) *nl.NetlinkRequest {
	r := nl.NewNetlinkRequest(kind, flags)
	r.Sockets = map[int]*nl.SocketHandle{unix.NETLINK_ROUTE: k.route}
	for _, d := range data {
		r.AddData(d)
	}
	return r
}
