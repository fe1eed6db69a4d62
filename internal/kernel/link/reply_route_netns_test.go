//go:build netns

package link

import (
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/netnstest"
)

func TestRouteFromGoesByTheRules(t *testing.T) {
	s := netnstest.New(t)
	s.Pair("eth0", s, "far0")
	s.Pair("eth1", s, "far1")
	h := handle(t, slog.New(slog.DiscardHandler))
	for _, c := range []struct{ own0, own1, vip, router0, router1, far, ip string }{
		{"10.9.0.1/24", "10.9.1.1/24", "10.9.1.100/32", "10.9.0.254", "10.9.1.254", "203.0.113.1", ""},
		{"fd09:0::1/64", "fd09:1::1/64", "fd09:1::100/128", "fd09:0::fe", "fd09:1::fe", "2001:db8::1", "-6 "},
	} {
		s.Has("eth0", c.own0)
		s.Has("eth1", c.own1)
		own, vip, far := netip.MustParsePrefix(c.own1), netip.MustParsePrefix(c.vip), netip.MustParseAddr(c.far)
		s.IP(c.ip + "route add default via " + c.router0 + " dev eth0")
		s.IP(c.ip + "route add default via " + c.router1 + " dev eth1 table 101")
		s.IP(c.ip + "rule add from " + own.Addr().String() + " lookup 101 priority 500")
		s.IP(c.ip + "rule add from " + own.Addr().String() + " iif lo lookup 101 priority 501")
		require.NoError(t, h.Add(s.Index("eth1"), []netip.Prefix{vip}, time.Minute))

		got, err := h.RouteFrom(own.Addr(), far)
		require.NoError(t, err)
		assert.Equal(t, Route{s.Index("eth1"), netip.MustParseAddr(c.router1)}, got)
		for _, from := range []netip.Addr{vip.Addr(), {}} {
			got, err = h.RouteFrom(from, far)
			require.NoError(t, err)
			assert.Equal(t, Route{s.Index("eth0"), netip.MustParseAddr(c.router0)}, got)
		}
		rules, err := h.Rules(!own.Addr().Is4())
		require.NoError(t, err)
		single := netip.PrefixFrom(own.Addr(), own.Addr().BitLen())
		assert.Contains(t, rules, Rule{Priority: 500, From: single, Table: 101, Plain: true})
		assert.Contains(t, rules, Rule{Priority: 501, From: single, Table: 101})
		assert.Contains(t, rules, Rule{Priority: 32766, Table: 254, Plain: true})

		s.IP(c.ip + "route del default dev eth0")
		_, err = h.RouteFrom(vip.Addr(), far)
		assert.Error(t, err)
	}
}
