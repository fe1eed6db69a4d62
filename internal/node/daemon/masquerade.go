package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/kernel/conntrack"
	"github.com/keepvip/keepvip/internal/kernel/spreadtables"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/internal/serve/service/spread"
)

// Toward implements spread.Host.
func (h spreadHost) Toward(p instance.Place, member netip.Addr) netip.Addr {
	own := h.Own(p, []netip.Addr{member})
	// Nothing is sent: the kernel looks for a route, and for its own address there.
	conn, err := net.Dial("udp", netip.AddrPortFrom(member, 9).String())
	if err == nil {
		from := conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap()
		_ = conn.Close()
		if from.Zone() == "" && !h.seen.now().isVirtual(from) {
			return from
		}
	}
	if len(own) > 0 {
		return own[0]
	}
	return netip.Addr{}
}

// Tracked implements spread.Host.
func (spreadHost) Tracked() (tracked, most int) { return conntrack.Room() }

// Forwards implements spread.Host.
func (spreadHost) Forwards(p instance.Place, ipv4 bool) (key string, does bool) {
	// IPv6 is forwarded by the whole host, or not at all.
	key = "net.ipv6.conf.all.forwarding"
	path := "/proc/sys/net/ipv6/conf/all/forwarding"
	if ipv4 {
		key = "net.ipv4.conf." + strings.ReplaceAll(p.Name, ".", "/") + ".forwarding" // as sysctl takes eth0.100
		path = "/proc/sys/net/ipv4/conf/" + p.Name + "/forwarding"
	}
	text, err := os.ReadFile(path)
	return key, err == nil && strings.TrimSpace(string(text)) != "0"
}

// Poke implements spread.Host.
func (spreadHost) Poke(list []spreadtables.Client) error { return spreadtables.Poke(list) }

// Reach implements spread.Host.
func (h spreadHost) Reach(ctx context.Context, p instance.Place, at netip.AddrPort) error {
	conn, err := (&net.Dialer{KeepAlive: -1}).DialContext(ctx, "tcp", at.String())
	switch {
	case err == nil:
		_ = conn.Close()
		return nil
	case errors.Is(err, unix.ECONNREFUSED), errors.Is(err, unix.ECONNRESET):
		return nil
	case unanswered(err):
		return h.silent(p, err)
	}
	return err
}

// Connect implements spread.Host.
func (h spreadHost) Connect(ctx context.Context, p instance.Place, at netip.AddrPort) error {
	var from netip.Addr
	if at.Addr().Zone() == "" && !at.Addr().IsLoopback() {
		from = h.Toward(p, at.Addr())
	}
	err := connectOnce(ctx, from, at)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ECONNREFUSED), errors.Is(err, unix.ECONNRESET):
		return fmt.Errorf("%w: %w", spread.ErrRefused, err)
	case unanswered(err):
		return h.silent(p, err)
	}
	return err
}

// unanswered tells a connection that the other host has not answered, by the time or as the network says, from one that this host could not begin: for
// want of a route, a port, a file descriptor or memory.
func unanswered(err error) bool {
	return slices.ContainsFunc([]error{context.DeadlineExceeded, unix.ETIMEDOUT, unix.EHOSTUNREACH, unix.EHOSTDOWN}, func(one error) bool {
		return errors.Is(err, one)
	})
}
