package fence

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// elementAnswer is the kernel's answer to the question for an element, with the attributes of that.
func elementAnswer(element []byte) []byte {
	list := attribute(nil, unix.NFTA_SET_ELEM_LIST_ELEMENTS|unix.NLA_F_NESTED, attribute(nil, unix.NFTA_LIST_ELEM|unix.NLA_F_NESTED, element))
	return append(inSet("keepvip-2", "lease"), list...)
}

func expiration(ms uint64) []byte {
	key := attribute(nil, unix.NFTA_SET_ELEM_KEY|unix.NLA_F_NESTED, []byte{1, 2, 3})
	return attribute(key, unix.NFTA_SET_ELEM_EXPIRATION, binary.BigEndian.AppendUint64(nil, ms))
}

func TestExpirationInAnAnswer(t *testing.T) {
	for ms, want := range map[uint64]time.Duration{250: 250 * time.Millisecond, 0: time.Millisecond, 1 << 63: time.Hour} {
		got, err := expirationIn(elementAnswer(expiration(ms)))
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

func FuzzExpirationIn(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(elementAnswer(expiration(250)))
	f.Add(elementAnswer(nil))
	f.Add([]byte{3, 0, 3, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if left, err := expirationIn(b); err == nil {
			assert.Positive(t, left)
		}
	})
}
