package gather

import (
	"encoding/hex"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/auth"
	"github.com/keepvip/keepvip/internal/tools/doctor"
	"github.com/keepvip/keepvip/members"
)

var ownA, ownB = netip.MustParseAddr("10.77.0.11"), netip.MustParseAddr("10.77.0.12")

func testKey(t testing.TB, word string) auth.Key {
	t.Helper()
	k, err := members.NewKey([]byte(strings.Repeat(word, 16)))
	require.NoError(t, err)
	return k
}

// doctorAt is a meeting of two as one of them has it.
func doctorAt(own, other netip.Addr, keys ...auth.Key) *meeting {
	return &meeting{own: own, keys: keys, window: 30 * time.Second, peers: map[netip.Addr]*doctor.Peer{other: {Address: other}}, began: time.Unix(1000, 0)}
}

func TestProbeIsByteExact(t *testing.T) {
	m := doctorAt(ownA, ownB, testKey(t, "5a"))
	m.peers[ownB].HeardMembers = true
	assert.Equal(t, "f10000006b70766401020000000001d1a94a200062e67dfe9e9cb843ac7f6b64e84ec59de94f54aa132385bccdb089855670e559bf97da43",
		hex.EncodeToString(m.probe(ownB, true, time.Unix(2000, 0))))
}

func TestProbeIsBelievedByWhoHasTheKey(t *testing.T) {
	one, two := testKey(t, "5a"), testKey(t, "a5")
	now := time.Unix(2000, 0)
	tests := map[string]struct {
		from, at []auth.Key
		late     time.Duration
		want     bool
	}{
		"no key":                {nil, nil, time.Hour, true},
		"one key":               {[]auth.Key{one}, []auth.Key{one}, 0, true},
		"a second key":          {[]auth.Key{one}, []auth.Key{two, one}, 0, true},
		"another key":           {[]auth.Key{one}, []auth.Key{two}, 0, false},
		"unsigned":              {nil, []auth.Key{one}, 0, false},
		"signed, and no key":    {[]auth.Key{one}, nil, 0, false},
		"old":                   {[]auth.Key{one}, []auth.Key{one}, 31 * time.Second, false},
		"of a clock far behind": {[]auth.Key{one}, []auth.Key{one}, -31 * time.Second, false},
	}
	for name, tt := range tests {
		for _, vrrp := range []bool{true, false} {
			from, at := doctorAt(ownA, ownB, tt.from...), doctorAt(ownB, ownA, tt.at...)
			from.peers[ownB].HeardVRRP = true
			b := from.probe(ownB, vrrp, now)
			assert.True(t, isProbe(b, vrrp), name)
			flags, ok := at.open(b, ownA, vrrp, now.Add(tt.late))
			assert.Equal(t, tt.want, ok, name)
			if ok {
				assert.EqualValues(t, saysVRRP, flags, name)
			}
			if len(tt.at) > 0 {
				_, ok = at.open(b, ownB, vrrp, now)
				assert.False(t, ok, "%s: from another host", name)
				b[len(b)-1] ^= 1
				_, ok = at.open(b, ownA, vrrp, now)
				assert.False(t, ok, "%s: changed", name)
			}
		}
	}
}

func TestMeetingTellsWhatItHears(t *testing.T) {
	a, b := doctorAt(ownA, ownB), doctorAt(ownB, ownA)
	now := time.Unix(1000, 0)
	for range tellsAfter + 1 {
		now = now.Add(sayEvery)
		b.heard(ownA, a.probe(ownB, true, now), true, now) // protocol 112 passes from a to b, and UDP from b to a
		a.heard(ownB, b.probe(ownA, false, now), false, now)
	}
	assert.Equal(t, &doctor.Peer{Address: ownB, HeardMembers: true, Probes: 4, Tells: true, VRRPHeardThere: true}, a.peers[ownB])
	assert.Equal(t, &doctor.Peer{Address: ownA, HeardVRRP: true, Probes: 4, Tells: true, MembersHeardThere: true}, b.peers[ownA])
	a.heard(netip.MustParseAddr("10.77.0.66"), b.probe(ownA, false, now), false, now)
	assert.Len(t, a.peers, 1, "a stranger's probe")
}

func FuzzProbe(f *testing.F) {
	m := doctorAt(ownB, ownA, testKey(f, "5a"))
	f.Add(doctorAt(ownA, ownB).probe(ownB, true, time.Unix(1, 0)), true)
	f.Add(doctorAt(ownA, ownB).probe(ownB, false, time.Unix(1, 0)), false)
	f.Fuzz(func(t *testing.T, b []byte, vrrp bool) {
		_, ok := m.open(b, ownA, vrrp, time.Unix(1, 0))
		assert.False(t, ok, "it is not signed")
	})
}

func TestNoProbeGoesToThePortOfMembersThatAreOff(t *testing.T) {
	assert.Equal(t, []bool{true}, (&meeting{}).protocols())
	assert.Equal(t, []bool{true, false}, (&meeting{port: 9646}).protocols())
}
