package link

import (
	"context"
	"net"
	"net/netip"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestListenElsewhere(t *testing.T) {
	at := func(s string) Listener { return Listener{At: netip.MustParseAddrPort(s)} }
	own, loop, all4, vip := at("10.77.0.11:6443"), at("127.0.0.1:6443"), at("0.0.0.0:6443"), at("10.77.0.100:6443")
	both, only6 := at("[::]:6443"), at("[::]:6443")
	both.Both = true
	addr := netip.MustParseAddr
	for name, tt := range map[string]struct {
		at       string
		loopback bool
		all      []Listener
		want     []netip.Addr
	}{
		"nothing listens":                 {"10.77.0.100:6443", true, []Listener{at("0.0.0.0:22")}, nil},
		"on its own address and loopback": {"10.77.0.100:6443", true, []Listener{own, loop}, []netip.Addr{addr("10.77.0.11"), addr("127.0.0.1")}},
		"on loopback alone":               {"10.77.0.100:6443", false, []Listener{loop}, nil},
		"on loopback, of a known port":    {"10.77.0.100:6443", true, []Listener{loop}, []netip.Addr{addr("127.0.0.1")}},
		"on all":                          {"10.77.0.100:6443", true, []Listener{own, all4}, nil},
		"on all of both families":         {"10.77.0.100:6443", true, []Listener{both, loop}, nil},
		"on all of IPv6 alone":            {"10.77.0.100:6443", true, []Listener{only6}, []netip.Addr{addr("::")}},
		"on the address, before it comes": {"10.77.0.100:6443", true, []Listener{vip, own}, nil},
		"IPv6, on all of both":            {"[fd77::100]:6443", true, []Listener{both}, nil},
		"IPv6, on all of IPv4":            {"[fd77::100]:6443", true, []Listener{all4}, []netip.Addr{addr("0.0.0.0")}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tt.want, ListenElsewhere(tt.all, netip.MustParseAddrPort(tt.at), tt.loopback))
		})
	}
}

// What the kernel lists is what was opened, with the families that each takes.
func TestListenersAreThoseOfTheKernel(t *testing.T) {
	only := func(value int) net.ListenConfig {
		return net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
			_ = c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, value) })
			return err
		}}
	}
	for _, tt := range []struct {
		network, at string
		config      net.ListenConfig
		want        Listener
	}{
		{"tcp4", "127.0.0.1:0", net.ListenConfig{}, Listener{At: netip.MustParseAddrPort("127.0.0.1:0")}},
		{"tcp4", "0.0.0.0:0", net.ListenConfig{}, Listener{At: netip.MustParseAddrPort("0.0.0.0:0")}},
		{"tcp6", "[::]:0", only(0), Listener{At: netip.MustParseAddrPort("[::]:0"), Both: true}},
		{"tcp6", "[::]:0", only(1), Listener{At: netip.MustParseAddrPort("[::]:0")}},
	} {
		l, err := tt.config.Listen(context.Background(), tt.network, tt.at)
		require.NoError(t, err)
		tt.want.At = netip.AddrPortFrom(tt.want.At.Addr(), l.Addr().(*net.TCPAddr).AddrPort().Port())
		all, err := Listeners()
		require.NoError(t, err)
		assert.Contains(t, all, tt.want)
		require.NoError(t, l.Close())
	}
}
