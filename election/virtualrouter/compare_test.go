package virtualrouter

import (
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/vrrp"
)

// forged is an advertisement of an owner that nobody is, with the longest interval there is.
func forged() vrrp.Advertisement {
	return vrrp.Advertisement{Version: 3, VRID: 51, Priority: 255, Interval: 40950 * time.Millisecond, Addresses: []netip.Addr{vip}}
}

// memberOf is how a node shows another.
func memberOf(m *member, address netip.Addr) election.Member {
	list := m.Status().Members
	return list[slices.IndexFunc(list, func(o election.Member) bool { return o.Address == address })]
}

func TestVRRPOneForgedAdvertisementSilencesForSecondsAtMost(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		h, others := three(t, l)
		all := append(others, h)
		attacker := l.join(netip.MustParseAddr("10.77.0.66"))
		_ = attacker.Send(forged())
		time.Sleep(100 * time.Millisecond)
		assert.Empty(t, holders(all...), "RFC 9568: the owner is believed")
		for _, m := range all {
			assert.Equal(t, "interval 40.95s is longer than 1s, which is adopted until it is heard again; if this is a router of yours, set vrrp.startupInterval to 40.95s",
				memberOf(m, attacker.self).Note)
		}
		holder(t, 3800*time.Millisecond, all...)
		time.Sleep(500 * time.Millisecond)
		assert.Equal(t, election.Backup, memberOf(h, attacker.self).State, "the attacker is not shown as the Active any more")
		stopAll(t, all...)
	})
}

// A router of higher priority that advertises once in five seconds is not doubled by nodes that do so ten times a second.
func TestVRRPSlowActiveIsNotDoubled(t *testing.T) {
	for _, slow := range []time.Duration{time.Second, 5 * time.Second, 40 * time.Second} {
		t.Run(slow.String(), func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				l := newLAN()
				h, others := three(t, l)
				own := append(others, h)
				router := l.start(t, netip.MustParseAddr("10.77.0.66"), func(c *vrrp.Config) { c.Priority, c.Interval = 200, slow })
				time.Sleep(4 * slow)
				for range int(4 * slow / (10 * time.Millisecond)) {
					time.Sleep(10 * time.Millisecond)
					if held := holders(append(own, router)...); !assert.Equal(t, []netip.Addr{router.self}, held) {
						break
					}
				}
				stopAll(t, append(own, router)...)
			})
		})
	}
}

// Forged advertisements of ever new routers, 500 in a second: the node follows, says little, and asks its host for little.
func TestVRRPFloodOfInventedRoutersIsBounded(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var log strings.Builder
		l := newLAN()
		a := l.startLogging(t, nodeA, slog.New(slog.NewTextHandler(&log, nil)))
		holder(t, time.Second, a)
		attacker := l.join(netip.MustParseAddr("10.77.0.66"))
		for i := range 2500 {
			l.mu.Lock()
			attacker.self = netip.AddrFrom4([4]byte{10, 88, byte(i >> 8), byte(i)})
			l.mu.Unlock()
			adv := forged()
			adv.Priority, adv.Interval = uint8(100+i%155), 10*time.Millisecond
			if i%2 == 0 {
				adv.Addresses = []netip.Addr{vip, netip.MustParseAddr("10.77.0.101")}
			}
			_ = attacker.Send(adv)
			time.Sleep(2 * time.Millisecond)
		}
		require.NoError(t, a.stop())
		a.mu.Lock()
		defer a.mu.Unlock()
		assert.LessOrEqual(t, len(a.decisions), 60+5*2, "decisions that the host follows")
		assert.LessOrEqual(t, strings.Count(log.String(), "\n"), 20, "lines")
	})
}
