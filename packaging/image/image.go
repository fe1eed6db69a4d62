// Package image makes the container image: nothing but the static binary and the licences, for several platforms under one
// index, without a daemon.
package image

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/keepvip/keepvip/packaging/archive"
)

// Binary is where the program is in the image.
const Binary = "keepvip"

// Platform is one image of the index.
type Platform struct {
	OS, Arch, Variant string         // as OCI names them: linux, arm, v7
	Files             []archive.File // the root file system; [Binary] is among them
}

// Config is what all platforms have in common.
type Config struct {
	Labels  map[string]string // org.opencontainers.image.*; also the annotations
	Created time.Time
}

// Index builds the image of every platform.
func Index(cfg Config, platforms []Platform) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range platforms {
		img, err := build(cfg, p)
		if err != nil {
			return nil, fmt.Errorf("image: %s/%s: %w", p.OS, p.Arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        img,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.OS, Architecture: p.Arch, Variant: p.Variant}},
		})
	}
	return mutate.Annotations(index, cfg.Labels).(v1.ImageIndex), nil
}

func build(cfg Config, p Platform) (v1.Image, error) {
	layer, err := layerOf(p.Files, cfg.Created)
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err = mutate.Append(img, mutate.Addendum{
		Layer: layer, MediaType: types.OCILayer,
		History: v1.History{Created: v1.Time{Time: cfg.Created}, CreatedBy: "keepvip release", Comment: "the static binary and the licences"},
	})
	if err != nil {
		return nil, fmt.Errorf("add the layer: %w", err)
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Variant = p.OS, p.Arch, p.Variant
	file.Created = v1.Time{Time: cfg.Created}
	file.Config = v1.Config{
		// A capability in the file would not survive no-new-privileges: root, with what the pod grants.
		User: "0:0", Entrypoint: []string{"/" + Binary}, Cmd: []string{"run"}, WorkingDir: "/",
		Env:    []string{"PATH=/"}, // so that the program is found by its name alone, as in kubectl exec POD -- keepvip status
		Labels: cfg.Labels, StopSignal: "SIGTERM",
	}
	if img, err = mutate.ConfigFile(img, file); err != nil {
		return nil, fmt.Errorf("write the configuration: %w", err)
	}
	return mutate.Annotations(img, cfg.Labels).(v1.Image), nil
}

func layerOf(files []archive.File, t time.Time) (v1.Layer, error) {
	data, err := archive.Tar(files, t)
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	return tarball.LayerFromOpener(open, tarball.WithCompressionLevel(gzip.BestCompression), tarball.WithMediaType(types.OCILayer))
}
