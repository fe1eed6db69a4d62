package image

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/packaging/archive"
)

var at = time.Unix(1700000000, 0).UTC()

func index(t *testing.T) v1.ImageIndex {
	t.Helper()
	var all []Platform
	for _, p := range []Platform{{OS: "linux", Arch: "amd64"}, {OS: "linux", Arch: "arm", Variant: "v7"}} {
		p.Files = []archive.File{{Path: Binary, Mode: 0o755, Data: []byte("for " + p.Arch)}, {Path: "usr/share/doc/keepvip/LICENSE", Mode: 0o644, Data: []byte("text")}}
		all = append(all, p)
	}
	got, err := Index(Config{Labels: map[string]string{"org.opencontainers.image.title": "keepvip"}, Created: at}, all)
	require.NoError(t, err)
	return got
}

func TestIndexIsValid(t *testing.T) {
	got := index(t)
	m, err := got.IndexManifest()
	require.NoError(t, err)
	require.Len(t, m.Manifests, 2)
	assert.Equal(t, "linux/amd64", m.Manifests[0].Platform.String())
	assert.Equal(t, "linux/arm/v7", m.Manifests[1].Platform.String())
	img, err := got.Image(m.Manifests[1].Digest)
	require.NoError(t, err)
	file, err := img.ConfigFile()
	require.NoError(t, err)
	assert.Equal(t, []string{"/keepvip"}, file.Config.Entrypoint)
	assert.Equal(t, []string{"PATH=/"}, file.Config.Env, "kubectl exec and crictl exec look for a program in the container's PATH alone")
	assert.Equal(t, "0:0", file.Config.User)
	assert.Equal(t, "arm", file.Architecture)
	assert.Equal(t, "keepvip", file.Config.Labels["org.opencontainers.image.title"])
	assert.True(t, file.Created.Equal(at))
}

func TestArchive(t *testing.T) {
	first, err := Archive(index(t), "example.org/keepvip:v1.2.3", at)
	require.NoError(t, err)
	second, err := Archive(index(t), "example.org/keepvip:v1.2.3", at)
	require.NoError(t, err)
	assert.Equal(t, first, second)

	files, dir := map[string][]byte{}, t.TempDir()
	for r := tar.NewReader(bytes.NewReader(first)); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		if h.Typeflag == tar.TypeDir {
			require.NoError(t, os.Mkdir(filepath.Join(dir, h.Name), 0o700))
			continue
		}
		files[h.Name], err = io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, h.Name), files[h.Name], 0o600))
	}
	read, err := layout.ImageIndexFromPath(dir)
	require.NoError(t, err)
	require.NoError(t, validate.Index(read))
	assert.JSONEq(t, `{"imageLayoutVersion":"1.0.0"}`, string(files["oci-layout"]))
	var top v1.IndexManifest
	require.NoError(t, json.Unmarshal(files["index.json"], &top))
	require.Len(t, top.Manifests, 1)
	assert.Equal(t, "example.org/keepvip:v1.2.3", top.Manifests[0].Annotations["io.containerd.image.name"])
	assert.Equal(t, "v1.2.3", top.Manifests[0].Annotations["org.opencontainers.image.ref.name"])
	assert.Contains(t, files, "blobs/sha256/"+top.Manifests[0].Digest.Hex)
}

func TestImageThatIsTooLargeIsRefused(t *testing.T) {
	got := index(t)
	assert.NoError(t, AtMost(got, 10_000))
	assert.ErrorContains(t, AtMost(got, 100), "image: linux/amd64 has ")
}
