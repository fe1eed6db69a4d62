//go:build e2e

package e2e

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
)

// writeImage writes an image with one static program, /usr/local/bin/PROGRAM, as
// the archive that `docker save` writes and `ctr images import` reads.
func writeImage(to, name, program string) error {
	layer, err := os.CreateTemp(path.Dir(to), "layer")
	if err != nil {
		return fmt.Errorf("e2e: image %s: %w", name, err)
	}
	defer os.Remove(layer.Name())
	defer layer.Close()
	hash := sha256.New()
	if err := writeLayer(io.MultiWriter(layer, hash), program); err != nil {
		return fmt.Errorf("e2e: image %s: %w", name, err)
	}
	diff := hex.EncodeToString(hash.Sum(nil))
	binary := "/usr/local/bin/" + path.Base(program)
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Env": []string{"PATH=/usr/local/bin"}, "Entrypoint": []string{binary}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + diff}},
	})
	if err != nil {
		return err
	}
	return writeArchive(to, name, config, layer, diff+"/layer.tar")
}

func writeLayer(w io.Writer, program string) error {
	f, err := os.Open(program)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	t := tar.NewWriter(w)
	for _, dir := range []string{"usr/", "usr/local/", "usr/local/bin/", "tmp/"} {
		if err := t.WriteHeader(&tar.Header{Name: dir, Typeflag: tar.TypeDir, Mode: 0o755}); err != nil {
			return err
		}
	}
	if err := t.WriteHeader(&tar.Header{Name: "usr/local/bin/" + path.Base(program), Mode: 0o755, Size: info.Size()}); err != nil {
		return err
	}
	if _, err := io.Copy(t, f); err != nil {
		return err
	}
	return t.Close()
}

func writeArchive(to, name string, config []byte, layer *os.File, layerName string) error {
	sum := sha256.Sum256(config)
	configName := hex.EncodeToString(sum[:]) + ".json"
	manifest, err := json.Marshal([]map[string]any{{"Config": configName, "RepoTags": []string{name}, "Layers": []string{layerName}}})
	if err != nil {
		return err
	}
	size, err := layer.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err := layer.Seek(0, io.SeekStart); err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
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
		if err := t.WriteHeader(&tar.Header{Name: f.name, Mode: 0o644, Size: f.size}); err != nil {
			return err
		}
		if _, err := io.Copy(t, f.from); err != nil {
			return err
		}
	}
	return t.Close()
}
