package election

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/replay"
	"github.com/keepvip/keepvip/vrrp"
)

func key(id, fill byte) vrrp.Key {
	k := vrrp.Key{ID: id, Secret: make([]byte, 32)}
	for i := range k.Secret {
		k.Secret[i] = fill
	}
	return k
}

func newAuth(t *testing.T, mode AuthMode, clock *replay.Clock, keys ...vrrp.Key) *Auth {
	t.Helper()
	a, err := NewAuth(AuthConfig{Keys: keys, Mode: mode, Window: time.Minute}, clock)
	require.NoError(t, err)
	return a
}

// bytesFrom is one advertisement of a node with that authentication.
func bytesFrom(t *testing.T, a *Auth, from netip.Addr, addresses ...netip.Addr) []byte {
	t.Helper()
	adv := vrrp.Advertisement{Version: 3, VRID: 51, Priority: 100, Interval: interval, Addresses: addresses}
	b, err := a.append(nil, adv, from, netip.MustParseAddr("224.0.0.18"), vrrp.PseudoHeader)
	require.NoError(t, err)
	return b
}

func TestHubAuthenticates(t *testing.T) {
	elsewhere := netip.MustParseAddr("10.77.0.200")
	one, two := key(1, 0xaa), key(2, 0xbb)
	forged := key(1, 0xcc)
	tests := []struct {
		name     string
		mine     []vrrp.Key
		mode     AuthMode
		theirs   []vrrp.Key
		list     netip.Addr
		taken    bool
		counted  string
		unsigned bool
	}{
		{name: "both have the key", mine: []vrrp.Key{one}, theirs: []vrrp.Key{one}, list: vip, taken: true},
		{name: "another cluster with the same key", mine: []vrrp.Key{one}, theirs: []vrrp.Key{one}, list: elsewhere, counted: "addresses"},
		{name: "no trailer", mine: []vrrp.Key{one}, list: vip, counted: "missing"},
		{name: "another key with this id", mine: []vrrp.Key{one}, theirs: []vrrp.Key{forged}, list: vip, counted: "hmac"},
		{name: "an unknown id", mine: []vrrp.Key{one}, theirs: []vrrp.Key{two}, list: vip, counted: "key-id"},
		{name: "a second key that is accepted", mine: []vrrp.Key{one, two}, theirs: []vrrp.Key{two, one}, list: vip, taken: true},
		{name: "permissive, no trailer", mine: []vrrp.Key{one}, mode: Permissive, list: vip, taken: true, counted: "missing-permitted"},
		{name: "permissive, another key", mine: []vrrp.Key{one}, mode: Permissive, theirs: []vrrp.Key{forged}, list: vip, taken: true, counted: "hmac-permitted"},
		{name: "permissive, another cluster", mine: []vrrp.Key{one}, mode: Permissive, theirs: []vrrp.Key{forged}, list: elsewhere, counted: "addresses"},
		{name: "receive only, no trailer", mine: []vrrp.Key{one}, mode: ReceiveOnly, list: vip, taken: true},
		{name: "receive only, another key", mine: []vrrp.Key{one}, mode: ReceiveOnly, theirs: []vrrp.Key{forged}, list: vip, taken: true, counted: "hmac-permitted"},
		{name: "no key here", theirs: []vrrp.Key{one}, list: vip, counted: "signed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := replay.NewClock(time.Now(), nil)
				s := newFakeSocket()
				h := NewHub(HubConfig{Source: nodeA, Log: quiet, Auth: newAuth(t, tt.mode, clock, tt.mine...)}, s)
				w, err := h.Join(wireConfig())
				require.NoError(t, err)
				b := bytesFrom(t, newAuth(t, Enforce, clock, tt.theirs...), nodeB, tt.list)
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
	synctest.Test(t, func(t *testing.T) {
		clock := replay.NewClock(time.Now(), nil)
		s := newFakeSocket()
		h := NewHub(HubConfig{Source: nodeA, Log: quiet, Auth: newAuth(t, Enforce, clock, key(1, 1))}, s)
		w, err := h.Join(wireConfig())
		require.NoError(t, err)
		sender := newAuth(t, Enforce, clock, key(1, 1))
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
	synctest.Test(t, func(t *testing.T) {
		one, two := key(1, 1), key(2, 2)
		steps := []AuthConfig{
			{},
			{Keys: []vrrp.Key{one}, Mode: ReceiveOnly, Window: time.Minute},
			{Keys: []vrrp.Key{one}, Mode: Permissive, Window: time.Minute},
			{Keys: []vrrp.Key{one}, Mode: Enforce, Window: time.Minute},
			{Keys: []vrrp.Key{one, two}, Mode: Enforce, Window: time.Minute},
			{Keys: []vrrp.Key{two, one}, Mode: Enforce, Window: time.Minute},
			{Keys: []vrrp.Key{two}, Mode: Enforce, Window: time.Minute},
		}
		clock := replay.NewClock(time.Now(), nil)
		nodes := map[netip.Addr]*Auth{nodeA: newAuth(t, Enforce, clock), nodeB: newAuth(t, Enforce, clock)}
		for i, step := range steps {
			for _, changed := range []netip.Addr{nodeA, nodeB} {
				require.NoError(t, nodes[changed].Set(step))
				for _, from := range []netip.Addr{nodeA, nodeB} {
					b := bytesFrom(t, nodes[from], from, vip)
					for at, to := range nodes {
						if at == from {
							continue
						}
						_, err := to.parse(vrrp.Datagram{Source: from, Destination: netip.MustParseAddr("224.0.0.18"), Payload: b}, "")
						assert.NoError(t, err, "step %d on %s: from %s", i, changed, from)
					}
				}
				time.Sleep(time.Second)
			}
		}
		assert.ErrorContains(t, nodes[nodeA].Set(AuthConfig{Keys: []vrrp.Key{{ID: 1}}, Window: time.Minute}), "election: vrrp: key 1 has 0 bytes")
		_, err := nodes[nodeB].parse(vrrp.Datagram{
			Source: nodeA, Destination: netip.MustParseAddr("224.0.0.18"), Payload: bytesFrom(t, nodes[nodeA], nodeA, vip),
		}, "")
		assert.NoError(t, err, "a change with an error changes nothing")
	})
}
