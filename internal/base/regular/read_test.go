package regular

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestReadWaitsForNothing(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, unix.Mkfifo(pipe, 0o600)) // nobody writes to it
	for _, path := range []string{pipe, "/dev/zero", "/dev/null", dir} {
		_, err := Read(path, 10)
		assert.ErrorIs(t, err, ErrNotRegular, path)
	}
}

func TestReadIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte("0123456789"), 0o600))
	data, err := Read(path, 10)
	require.NoError(t, err)
	assert.Equal(t, "0123456789", string(data))
	_, err = Read(path, 9)
	assert.EqualError(t, err, "more than 9 bytes, want at most that")
	_, err = Read(path+".none", 9)
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.NotContains(t, err.Error(), path)
}
