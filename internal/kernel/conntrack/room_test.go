package conntrack

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRoomIsWhatTheKernelSays(t *testing.T) {
	dir := t.TempDir()
	say := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	room := func() [2]int { n, most := roomIn(dir); return [2]int{n, most} }
	assert.Zero(t, room(), "no connection tracking")
	say("nf_conntrack_count", "12\n")
	assert.Zero(t, room(), "no limit is known")
	say("nf_conntrack_max", "262144\n")
	assert.Equal(t, [2]int{12, 262144}, room())
	say("nf_conntrack_max", "many\n")
	assert.Zero(t, room())
}

func TestAlmostFull(t *testing.T) {
	assert.False(t, AlmostFull(0, 0))
	assert.False(t, AlmostFull(899, 1000))
	assert.True(t, AlmostFull(900, 1000))
	assert.True(t, AlmostFull(1000, 1000))
}
