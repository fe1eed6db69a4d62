package archive

import (
	"archive/tar"
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTarIsTheSameForTheSameFiles(t *testing.T) {
	at := time.Unix(1700000000, 0)
	a, err := Tar([]File{{"b/c/x", 0o755, []byte("x")}, {"a", 0o644, []byte("a")}}, at)
	require.NoError(t, err)
	b, err := Tar([]File{{"a", 0o644, []byte("a")}, {"b/c/x", 0o755, []byte("x")}}, at.In(time.FixedZone("far", 9*3600)))
	require.NoError(t, err)
	assert.Equal(t, a, b)

	var names []string
	for r := tar.NewReader(bytes.NewReader(a)); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		names = append(names, h.Name)
		assert.True(t, h.ModTime.Equal(at), h.Name)
		assert.Zero(t, h.Uid+h.Gid, h.Name)
	}
	assert.Equal(t, []string{"a", "b/", "b/c/", "b/c/x"}, names)
}

func TestGzipKeepsNoTime(t *testing.T) {
	got, err := Gzip([]byte("text"))
	require.NoError(t, err)
	assert.Equal(t, []byte{0, 0, 0, 0}, got[4:8], "MTIME, RFC 1952 section 2.3")
}
