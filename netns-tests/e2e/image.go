//go:build e2e

package e2e

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path"
	"runtime"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// writeImage writes an image with one static program, /usr/local/bin/PROGRAM, as
// the archive that `docker save` writes and `ctr images import` reads.
func writeImage(to, name, program string) (err error) {
	defer try.Say(&err, "e2e: image %s", name)
	layer := try.Get(os.CreateTemp(path.Dir(to), "layer"))
	defer os.Remove(layer.Name())
	defer layer.Close()
	hash := sha256.New()
	try.Do(writeLayer(io.MultiWriter(layer, hash), program))
	diff := hex.EncodeToString(hash.Sum(nil))
	binary := "/usr/local/bin/" + path.Base(program)
	config := try.Get(json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Env": []string{"PATH=/usr/local/bin"}, "Entrypoint": []string{binary}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + diff}},
	}))
	return writeArchive(to, name, config, layer, diff+"/layer.tar")
}

func writeLayer(w io.Writer, program string) (err error) {
	defer try.Catch(&err)
	f := try.Get(os.Open(program))
	defer f.Close()
	info := try.Get(f.Stat())
	t := tar.NewWriter(w)
	for _, dir := range []string{"usr/", "usr/local/", "usr/local/bin/", "tmp/"} {
		try.Do(t.WriteHeader(&tar.Header{Name: dir, Typeflag: tar.TypeDir, Mode: 0o755}))
	}
	try.Do(t.WriteHeader(&tar.Header{Name: "usr/local/bin/" + path.Base(program), Mode: 0o755, Size: info.Size()}))
	try.Get(io.Copy(t, f))
	return t.Close()
}

func writeArchive(to, name string, config []byte, layer *os.File, layerName string) (err error) {
	defer try.Catch(&err)
	sum := sha256.Sum256(config)
	configName := hex.EncodeToString(sum[:]) + ".json"
	manifest := try.Get(json.Marshal([]map[string]any{{"Config": configName, "RepoTags": []string{name}, "Layers": []string{layerName}}}))
	size := try.Get(layer.Seek(0, io.SeekEnd))
	try.Get(layer.Seek(0, io.SeekStart))
	out := try.Get(os.Create(to))
	defer out.Close()
	t := tar.NewWriter(out)
	for _, f := range []struct {
		name string
		size int64
		from io.Reader
	}{
		{configName, int64(len(config)), bytes.NewReader(config)},
		{layerName, size, layer},
		{"manifest.json", int64(len(manifest)), bytes.NewReader(manifest)},
	} {
		try.Do(t.WriteHeader(&tar.Header{Name: f.name, Mode: 0o644, Size: f.size}))
		try.Get(io.Copy(t, f.from))
	}
	return t.Close()
}
