package daemon

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/instance"
	"github.com/keepvip/keepvip/internal/spreadtables"
)

// Toward implements spread.Host.
func (h spreadHost) Toward(p instance.Place, member netip.Addr) netip.Addr {
	own := h.Own(p, []netip.Addr{member})
	// Nothing is sent: the kernel looks for a route, and for its own address there.
	conn, err := net.Dial("udp", netip.AddrPortFrom(member, 9).String())
	if err == nil {
		from := conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap()
		_ = conn.Close()
		if from.Zone() == "" && !h.seen.isVirtual(from) {
			return from
		}
	}
	if len(own) > 0 {
		return own[0]
	}
	return netip.Addr{}
}

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
func (spreadHost) Reach(ctx context.Context, at netip.AddrPort) error {
	conn, err := (&net.Dialer{KeepAlive: -1}).DialContext(ctx, "tcp", at.String())
	if errors.Is(err, unix.ECONNREFUSED) {
		return nil
	}
	if err == nil {
		_ = conn.Close()
	}
	return err
}
