package lifeline

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/auth"
)

var nodeA, nodeB = netip.MustParseAddr("10.77.0.11"), netip.MustParseAddr("10.77.0.12")

// keys are one key, or with 0 none.
func keys(secret byte) *auth.Keys {
	k := auth.NewKeyring[int](auth.NewClock(time.Now(), nil))
	if secret == 0 {
		return &k.Keys
	}
	key, err := auth.Derive(bytes.Repeat([]byte{secret}, 32), "test")
	if err := errors.Join(err, k.Set(auth.Config{Keys: []auth.Key{key}, Window: time.Minute})); err != nil {
		panic(err)
	}
	return &k.Keys
}

func TestBothEndsGetToKnowEachOther(t *testing.T) {
	for name, tt := range map[string]struct {
		a, b         byte // keys
		sessions     []uint64
		wantA, wantB error // nil: any, where the other end has one
		fails        bool
	}{
		"without a key":             {sessions: []uint64{7}},
		"with a key":                {a: 1, b: 1, sessions: []uint64{3, 7}},
		"the dialler has no key":    {b: 1, sessions: []uint64{7}, wantB: errProof, fails: true},
		"the dialler has another":   {a: 2, b: 1, sessions: []uint64{7}, wantB: errProof, fails: true},
		"the other has no key":      {a: 1, sessions: []uint64{7}, wantA: errProof, fails: true},
		"a session that is unknown": {sessions: []uint64{8}, wantB: errStrange, fails: true},
		"no session":                {wantB: errStrange, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			near, far := net.Pipe()
			deadline := time.Now().Add(10 * time.Second)
			require.NoError(t, errors.Join(near.SetDeadline(deadline), far.SetDeadline(deadline)))
			outcome := make(chan error, 1)
			go func() {
				outcome <- welcome(far, ends{nodeA, nodeB}, func(s uint64) bool { return s == 7 }, keys(tt.b))
				_ = far.Close()
			}()
			errA := greet(near, ends{nodeA, nodeB}, tt.sessions, keys(tt.a))
			errB := <-outcome
			if !tt.fails {
				assert.NoError(t, errA)
				assert.NoError(t, errB)
				return
			}
			assert.Error(t, errA, "the dialling end has no line")
			if tt.wantA != nil {
				assert.ErrorIs(t, errA, tt.wantA)
			}
			if tt.wantB != nil {
				assert.ErrorIs(t, errB, tt.wantB)
			}
		})
	}
}

// TestProofIsForOneLine: what was recorded of a line is of no use on another, nor for the other end.
func TestProofIsForOneLine(t *testing.T) {
	n := nonces{dialled: [nonceLen]byte{1}, accepted: [nonceLen]byte{2}}
	proof := prove(keys(1), ends{nodeA, nodeB}.parts(byDialler, n, []uint64{7}))
	assert.True(t, proven(keys(1), proof, ends{nodeA, nodeB}.parts(byDialler, n, []uint64{7})))
	for name, parts := range map[string][][]byte{
		"another challenge": ends{nodeA, nodeB}.parts(byDialler, nonces{dialled: n.dialled, accepted: [nonceLen]byte{3}}, []uint64{7}),
		"another dialler":   ends{nodeB, nodeB}.parts(byDialler, n, []uint64{7}),
		"the other end":     ends{nodeA, nodeB}.parts(byAcceptor, n, []uint64{7}),
		"other sessions":    ends{nodeA, nodeB}.parts(byDialler, n, []uint64{8}),
	} {
		assert.False(t, proven(keys(1), proof, parts), name)
	}
}

func FuzzGreeting(f *testing.F) {
	f.Add(greeting{nonce: [nonceLen]byte{9}, sessions: []uint64{1, 1 << 63}, proof: make([]byte, 36)}.bytes())
	f.Add(greeting{}.bytes())
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := readGreeting(bytes.NewReader(b))
		if err != nil {
			return
		}
		assert.LessOrEqual(t, len(g.sessions), maxSessions)
		assert.Equal(t, g.bytes(), b[:len(g.bytes())], "what was read is what was said")
	})
}
