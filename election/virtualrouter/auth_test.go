package virtualrouter

import (
	"bytes"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/auth"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/vrrp"
)

func key(id, fill byte) auth.Key { return vrrp.NewKey(id, bytes.Repeat([]byte{fill}, 32)) }

func newAuth(t *testing.T, mode auth.Mode, clock *auth.Clock, keys ...auth.Key) *vrrp.Auth {
	t.Helper()
	a := vrrp.NewAuth(clock)
	require.NoError(t, a.Set(auth.Config{Keys: keys, Mode: mode, Window: time.Minute}))
	return a
}

// bytesFrom is one advertisement of a node with that authentication.
func bytesFrom(t *testing.T, a *vrrp.Auth, from netip.Addr, addresses ...netip.Addr) []byte {
	t.Helper()
	adv := vrrp.Advertisement{Version: 3, VRID: 51, Priority: 100, Interval: interval, Addresses: addresses}
	b, err := a.Append(nil, adv, from, netip.MustParseAddr("224.0.0.18"), vrrp.PseudoHeader, time.Now())
	require.NoError(t, err)
	return b
}

func TestHubAuthenticates(t *testing.T) {
	elsewhere := netip.MustParseAddr("10.77.0.200")
	one, two := key(1, 0xaa), key(2, 0xbb)
	forged := key(1, 0xcc)
	tests := []struct {
		name     string
		mine     []auth.Key
		mode     auth.Mode
		theirs   []auth.Key
		list     netip.Addr
		taken    bool
		counted  string
		unsigned bool
	}{
		{name: "both have the key", mine: []auth.Key{one}, theirs: []auth.Key{one}, list: vip, taken: true},
		{name: "another cluster with the same key", mine: []auth.Key{one}, theirs: []auth.Key{one}, list: elsewhere, counted: "addresses"},
		{name: "no trailer", mine: []auth.Key{one}, list: vip, counted: "missing"},
		{name: "another key with this id", mine: []auth.Key{one}, theirs: []auth.Key{forged}, list: vip, counted: "hmac"},
		{name: "an unknown id", mine: []auth.Key{one}, theirs: []auth.Key{two}, list: vip, counted: "key-id"},
		{name: "a second key that is accepted", mine: []auth.Key{one, two}, theirs: []auth.Key{two, one}, list: vip, taken: true},
		{name: "permissive, no trailer", mine: []auth.Key{one}, mode: auth.Permissive, list: vip, taken: true, counted: "missing-permitted"},
		{name: "permissive, another key", mine: []auth.Key{one}, mode: auth.Permissive, theirs: []auth.Key{forged}, list: vip, taken: true, counted: "hmac-permitted"},
		{name: "permissive, another cluster", mine: []auth.Key{one}, mode: auth.Permissive, theirs: []auth.Key{forged}, list: elsewhere, counted: "addresses"},
		{name: "receive only, no trailer", mine: []auth.Key{one}, mode: auth.ReceiveOnly, list: vip, taken: true},
		{name: "receive only, another key", mine: []auth.Key{one}, mode: auth.ReceiveOnly, theirs: []auth.Key{forged}, list: vip, taken: true, counted: "hmac-permitted"},
		{name: "no key here", theirs: []auth.Key{one}, list: vip, counted: "signed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				clock := auth.NewClock(time.Now(), nil)
				s := newFakeSocket()
				h := NewHub(s, vrrp.ConnConfig{Source: nodeA}, newAuth(t, tt.mode, clock, tt.mine...), quiet)
				w, err := h.Join(wireConfig(), quiet)
				require.NoError(t, err)
				b := bytesFrom(t, newAuth(t, auth.Enforce, clock, tt.theirs...), nodeB, tt.list)
				s.raw(vrrp.Datagram{Source: nodeB, Destination: s.group, TTL: 255, Payload: b})
				synctest.Wait()
				assert.Len(t, w.Take(nil), map[bool]int{true: 1}[tt.taken])
				want := map[string]uint64{}
				if tt.counted != "" {
					want[tt.counted] = 1
				}
				assert.Equal(t, want, w.Rejections().Counts())
				require.NoError(t, h.Close())
			})
		})
	}
}

func TestHubRefusesReplays(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		clock := auth.NewClock(time.Now(), nil)
		s := newFakeSocket()
		h := NewHub(s, vrrp.ConnConfig{Source: nodeA}, newAuth(t, auth.Enforce, clock, key(1, 1)), quiet)
		w, err := h.Join(wireConfig(), quiet)
		require.NoError(t, err)
		sender := newAuth(t, auth.Enforce, clock, key(1, 1))
		first := bytesFrom(t, sender, nodeB, vip)
		second := bytesFrom(t, sender, nodeB, vip)
		for _, b := range [][]byte{first, second, first, second} {
			s.raw(vrrp.Datagram{Source: nodeB, Destination: s.group, TTL: 255, Payload: b})
			time.Sleep(2 * junkPause)
		}
		assert.Equal(t, map[string]uint64{"replay": 2}, w.Rejections().Counts())
		require.NoError(t, h.Close())
	})
}

// Keys are changed on running nodes one at a time; nobody is refused at any moment.
func TestAuthRollingChange(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		one, two := key(1, 1), key(2, 2)
		steps := []auth.Config{
			{},
			{Keys: []auth.Key{one}, Mode: auth.ReceiveOnly, Window: time.Minute},
			{Keys: []auth.Key{one}, Mode: auth.Permissive, Window: time.Minute},
			{Keys: []auth.Key{one}, Mode: auth.Enforce, Window: time.Minute},
			{Keys: []auth.Key{one, two}, Mode: auth.Enforce, Window: time.Minute},
			{Keys: []auth.Key{two, one}, Mode: auth.Enforce, Window: time.Minute},
			{Keys: []auth.Key{two}, Mode: auth.Enforce, Window: time.Minute},
		}
		clock := auth.NewClock(time.Now(), nil)
		nodes := map[netip.Addr]*vrrp.Auth{nodeA: newAuth(t, auth.Enforce, clock), nodeB: newAuth(t, auth.Enforce, clock)}
		for i, step := range steps {
			for _, changed := range []netip.Addr{nodeA, nodeB} {
				require.NoError(t, nodes[changed].Set(step))
				for _, from := range []netip.Addr{nodeA, nodeB} {
					b := bytesFrom(t, nodes[from], from, vip)
					for at, to := range nodes {
						if at == from {
							continue
						}
						_, _, err := to.Parse(b, from, netip.MustParseAddr("224.0.0.18"), time.Now())
						assert.NoError(t, err, "step %d on %s: from %s", i, changed, from)
					}
				}
				time.Sleep(time.Second)
			}
		}
		assert.ErrorContains(t, nodes[nodeA].Set(auth.Config{Keys: []auth.Key{{ID: "1"}}, Window: time.Minute}), "auth: key of 0 bytes")
		_, _, err := nodes[nodeB].Parse(bytesFrom(t, nodes[nodeA], nodeA, vip), nodeA, netip.MustParseAddr("224.0.0.18"), time.Now())
		assert.NoError(t, err, "a change with an error changes nothing")
	})
}
